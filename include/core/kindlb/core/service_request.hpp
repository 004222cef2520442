#pragma once
// What a Service asks for beyond plain spec fields: annotations, source ranges, requested
// addresses. Pure. Parsing is strict: an invalid annotation is ignored and reported in `mistakes`.
// Source ranges are the exception and fail closed: an entry that cannot be parsed admits no client.

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

/// Feature names for spec.requiredLoadBalancerFeatures (KEP-4631).
inline constexpr std::array<std::string_view, 6> kKnownFeatures = {"IPFamilies",
                                                                   "Ports",
                                                                   "SessionAffinity",
                                                                   "LoadBalancerIP",
                                                                   "ExternalTrafficPolicy",
                                                                   "LoadBalancerSourceRanges"};
bool is_known_feature(std::string_view name);

/// Faults injected by annotations, to demonstrate and test conditions (docs/contract.md §7).
struct Faults {
  std::chrono::milliseconds provisioning_delay{0};
  std::string infrastructure;  ///< set: fail with Serving=False/Infrastructure and this message
  std::set<std::string> unsupported;  ///< pretend not to support these features
  bool interrupt_on_update = false;   ///< updates pass through Serving=False

  bool operator==(const Faults&) const = default;
};

/// Which clients may connect. Not given: all.
struct SourceRanges {
  std::string field;         ///< the field or annotation they came from; empty: not given
  std::vector<Cidr> ranges;  ///< sorted, unique, without host bits
  std::vector<std::string> unreadable;  ///< entries that are not a CIDR; they admit no client

  bool given() const { return !field.empty(); }
  std::vector<Cidr> of(IpFamily family) const;
  bool operator==(const SourceRanges&) const = default;
};

/// Addresses the Service requests, and the field or annotation of each.
struct ChosenAddresses {
  std::map<IpFamily, IpAddress> by_family;
  std::map<IpFamily, std::string> field;
  std::vector<std::string> problems;  ///< "spec.loadBalancerIP nonsense is not an IP address"

  bool given() const { return !by_family.empty() || !problems.empty(); }
  bool operator==(const ChosenAddresses&) const = default;
};

/// All of it, for one Service.
struct ServiceRequest {
  std::set<std::string> required;  ///< features, from spec and annotation together
  std::optional<Datapath> datapath;
  ProxyProtocol proxy_protocol = ProxyProtocol::None;
  SourceRanges ranges;
  ChosenAddresses addresses;
  Faults faults;
  std::vector<std::string> mistakes;  ///< one sentence each, for Warning Events

  bool operator==(const ServiceRequest&) const = default;
};

/// Parse the Service's fields and annotations.
ServiceRequest request_of(const Service& service);

/// Parse a duration such as "20s", "1m30s" or "500ms": whole numbers with units, at most an hour.
std::optional<std::chrono::milliseconds> parse_delay(std::string_view text);

/// Return the datapath for a Service: its annotation, else the flag; always NodePort where the
/// profile has no direct path.
Datapath datapath_for(const ServiceRequest& request, const Policy& policy);

}  // namespace kindlb::core
