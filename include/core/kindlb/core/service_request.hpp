#pragma once
// What a Service asks for in places that need reading: annotations, source ranges, chosen
// addresses. Strict: a value that makes no sense is ignored and named in `mistakes`, but for source
// ranges, where what cannot be read admits nobody. Pure.

#include "kindlb/core/policy.hpp"
#include "kindlb/core/proxy_config.hpp"
#include "kindlb/core/service.hpp"

#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kindlb::core {

/// Names a Service may list as required (KEP-4631).
inline constexpr std::array<std::string_view, 6> kKnownFeatures = {"IPFamilies",
                                                                   "Ports",
                                                                   "SessionAffinity",
                                                                   "LoadBalancerIP",
                                                                   "ExternalTrafficPolicy",
                                                                   "LoadBalancerSourceRanges"};
bool is_known_feature(std::string_view name);

/// Misbehaviour on demand, to show and to test what conditions do (docs/contract.md §7).
struct Faults {
  std::chrono::milliseconds provisioning_delay{0};
  std::string infrastructure;         ///< set: end in Serving=False/Infrastructure with these words
  std::set<std::string> unsupported;  ///< act as if these features were missing
  bool interrupt_on_update = false;   ///< updates pass through Serving=False

  bool operator==(const Faults&) const = default;
};

/// Who may connect. Not given: everybody.
struct SourceRanges {
  std::string field;                    ///< where they were found; empty: not given
  std::vector<Cidr> ranges;             ///< sorted, unique, without host bits
  std::vector<std::string> unreadable;  ///< entries that admit nobody

  bool given() const { return !field.empty(); }
  std::vector<Cidr> of(IpFamily family) const;
  bool operator==(const SourceRanges&) const = default;
};

/// Addresses the Service wants to have, and in which words it asked.
struct ChosenAddresses {
  std::map<IpFamily, IpAddress> by_family;
  std::map<IpFamily, std::string> field;
  std::vector<std::string> problems;  ///< "spec.loadBalancerIP nonsense is not an IP address"

  bool given() const { return !by_family.empty() || !problems.empty(); }
  bool operator==(const ChosenAddresses&) const = default;
};

struct ServiceRequest {
  std::set<std::string> required;  ///< features, of the spec and of the annotation
  std::optional<Datapath> datapath;
  ProxyProtocol proxy_protocol = ProxyProtocol::None;
  SourceRanges ranges;
  ChosenAddresses addresses;
  Faults faults;
  std::vector<std::string> mistakes;  ///< one sentence each, for a Warning Event

  bool operator==(const ServiceRequest&) const = default;
};

ServiceRequest request_of(const Service& service);

/// "20s", "1m30s", "500ms": whole numbers with units, largest first or not; at most an hour.
std::optional<std::chrono::milliseconds> parse_delay(std::string_view text);

/// How this Service's traffic goes: its annotation, else the flag; node ports where nothing else
/// can be had.
Datapath datapath_for(const ServiceRequest& request, const Policy& policy);

}  // namespace kindlb::core
