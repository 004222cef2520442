#pragma once
// How core's values print when a test fails; doctest
// prints {?} for what it was not taught. Include it in every source of a binary or in none: the
// linker keeps one of two instantiations.

#include "kindlb/core/addresses.hpp"
#include "kindlb/core/backends.hpp"
#include "kindlb/core/conditions.hpp"
#include "kindlb/core/eligibility.hpp"
#include "kindlb/core/plan.hpp"
#include "kindlb/core/policy.hpp"
#include "kindlb/core/result.hpp"
#include "kindlb/core/verdict.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace kindlb::test {

template <typename T>
std::string shown(const T& value);

template <typename Items>
std::string shown_list(const Items& items) {
  std::string out = "[";
  for (const auto& item : items) out += (out.size() == 1 ? "" : ", ") + shown(item);
  return out + "]";
}

}  // namespace kindlb::test

namespace doctest {

template <typename T>
struct StringMaker<std::vector<T>> {
  static String convert(const std::vector<T>& items) {
    return kindlb::test::shown_list(items).c_str();
  }
};

template <typename T>
struct StringMaker<std::set<T>> {
  static String convert(const std::set<T>& items) {
    return kindlb::test::shown_list(items).c_str();
  }
};

template <typename K, typename V>
struct StringMaker<std::map<K, V>> {
  static String convert(const std::map<K, V>& items) {
    return kindlb::test::shown_list(items).c_str();
  }
};

template <typename A, typename B>
struct StringMaker<std::pair<A, B>> {
  static String convert(const std::pair<A, B>& item) {
    return (kindlb::test::shown(item.first) + ": " + kindlb::test::shown(item.second)).c_str();
  }
};

template <typename T>
struct StringMaker<std::optional<T>> {
  static String convert(const std::optional<T>& item) {
    return item ? toString(*item) : String("nothing");
  }
};

}  // namespace doctest

namespace kindlb::core {

template <std::size_t N, typename Enum>
doctest::String enumerator(const std::array<const char*, N>& names, Enum value) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? names[index] : "?";
}

inline doctest::String toString(Protocol value) {
  return name_of(value);
}
inline doctest::String toString(IpFamily value) {
  return name_of(value);
}
inline doctest::String toString(ErrorKind value) {
  return name_of(value);
}
inline doctest::String toString(ServiceType value) {
  return enumerator(std::array{"ClusterIP", "NodePort", "LoadBalancer", "ExternalName"}, value);
}
inline doctest::String toString(Affinity value) {
  return enumerator(std::array{"None", "ClientIP"}, value);
}
inline doctest::String toString(TrafficPolicy value) {
  return enumerator(std::array{"Cluster", "Local"}, value);
}
inline doctest::String toString(Datapath value) {
  return enumerator(std::array{"auto", "direct", "nodeport"}, value);
}
inline doctest::String toString(ProxyProtocol value) {
  return enumerator(std::array{"none", "v1", "v2"}, value);
}
inline doctest::String toString(MixedProtocols value) {
  return enumerator(std::array{"any", "distinct ports", "none"}, value);
}
inline doctest::String toString(ConditionStatus value) {
  return enumerator(std::array{"True", "False", "Unknown"}, value);
}
inline doctest::String toString(EventType value) {
  return enumerator(std::array{"Normal", "Warning"}, value);
}
inline doctest::String toString(Claim value) {
  return enumerator(std::array{"NotOurs", "Ours", "ReleaseDeleted", "ReleaseChanged"}, value);
}
inline doctest::String toString(Outcome value) {
  return enumerator(std::array{"Serve", "Degrade", "Refuse"}, value);
}
inline doctest::String toString(Phase value) {
  return enumerator(std::array{"Refused", "Working", "Updating", "Serving", "Failing",
                               "UpdateFailing", "GivenUp"},
                    value);
}
inline doctest::String toString(Reach value) {
  return enumerator(std::array{"Unknown", "Reached", "Refused", "Unreachable"}, value);
}
inline doctest::String toString(Teardown value) {
  return enumerator(std::array{"None", "DropFinalizer", "TakeBack"}, value);
}

inline std::ostream& operator<<(std::ostream& out, const IpAddress& value) {
  return out << value.text();
}
inline std::ostream& operator<<(std::ostream& out, const Cidr& value) {
  return out << value.text();
}
inline std::ostream& operator<<(std::ostream& out, const AddressRange& value) {
  return out << value.text();
}
inline std::ostream& operator<<(std::ostream& out, const ServiceKey& value) {
  return out << value.text();
}
inline std::ostream& operator<<(std::ostream& out, const Target& value) {
  return out << value.text();
}
inline std::ostream& operator<<(std::ostream& out, const Error& value) {
  return out << value.text();
}
inline std::ostream& operator<<(std::ostream& out, const Revision& value) {
  return out << '"' << value.text() << '"';
}
inline std::ostream& operator<<(std::ostream& out, const Route& value) {
  return out << value.to << " via " << value.via;
}
inline std::ostream& operator<<(std::ostream& out, const Probe& value) {
  return out << value.label << " at " << test::shown(value.targets);
}
inline std::ostream& operator<<(std::ostream& out, const Reason& value) {
  return out << value.feature << '/' << value.reason << ": " << value.message;
}
inline std::ostream& operator<<(std::ostream& out, const EventNote& value) {
  return out << toString(value.type) << ' ' << value.reason << ": " << value.message;
}
inline std::ostream& operator<<(std::ostream& out, const ServicePort& value) {
  return out << value.name << ' ' << name_of(value.protocol) << '/' << value.port << "->"
             << value.target_port << " node " << value.node_port;
}
inline std::ostream& operator<<(std::ostream& out, const PortStatus& value) {
  return out << name_of(value.protocol) << '/' << value.port << ' '
             << (value.error.empty() ? "open" : value.error);
}
inline std::ostream& operator<<(std::ostream& out, const Ingress& value) {
  return out << value.ip << value.hostname << ' ' << value.ip_mode << ' '
             << test::shown(value.ports);
}
inline std::ostream& operator<<(std::ostream& out, const Condition& value) {
  return out << value.type << '=' << toString(value.status) << '/' << value.reason << " @"
             << value.last_transition.time_since_epoch().count() << " \"" << value.message << '"';
}
inline std::ostream& operator<<(std::ostream& out, const StatusApply& value) {
  return out << value.key << (value.finalizer ? " finalizer" : " no finalizer") << " observed "
             << value.observed << ' ' << test::shown(value.ingress) << ' '
             << test::shown(value.conditions);
}
inline std::ostream& operator<<(std::ostream& out, const Verdict& value) {
  return out << toString(value.outcome) << ' ' << test::shown(value.reasons) << " ports "
             << test::shown(value.port_status) << " families " << test::shown(value.families);
}
inline std::ostream& operator<<(std::ostream& out, const Path& value) {
  return out << (value.direct ? "direct " : "node ports ") << test::shown(value.targets)
             << " routes " << test::shown(value.routes) << " ready " << value.ready << " problem \""
             << value.problem << '"';
}
inline std::ostream& operator<<(std::ostream& out, const Listener& value) {
  return out << value.name << " at " << Target{value.address, value.port} << ' '
             << name_of(value.protocol);
}
inline std::ostream& operator<<(std::ostream& out, const Backend& value) {
  return out << value.name << ' ' << toString(value.affinity) << ' ' << test::shown(value.targets);
}
inline std::ostream& operator<<(std::ostream& out, const ProxyConfig& value) {
  return out << value.unit << " addresses " << test::shown(value.addresses) << " routes "
             << test::shown(value.routes) << " listeners " << test::shown(value.listeners)
             << " backends " << test::shown(value.backends);
}
inline std::ostream& operator<<(std::ostream& out, const Plan& value) {
  return out << "write " << test::shown(value.write) << "; claim " << value.claim << "; apply "
             << test::shown(value.apply) << "; probes " << test::shown(value.probes) << "; remove "
             << value.remove_proxy << "; teardown " << toString(value.teardown);
}

}  // namespace kindlb::core

namespace kindlb::test {

template <typename T>
std::string shown(const T& value) {
  using doctest::toString;
  return toString(value).c_str();
}

}  // namespace kindlb::test
