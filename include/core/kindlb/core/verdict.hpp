#pragma once
// Refuse, degrade, or serve (KEP-4631, docs/contract.md §3). A pure function of what the Service
// asks for, what the provider can do, and what the network offers. Total: every port, family and
// feature of the Service ends up accepted or in a named reason.

#include "kindlb/core/addresses.hpp"
#include "kindlb/core/policy.hpp"
#include "kindlb/core/service.hpp"
#include "kindlb/core/service_request.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace kindlb::core {

/// Why something is not as asked. `reason` is a condition reason ("PortsNotSupported") for what can
/// be degraded and empty for what can only be refused.
struct Reason {
  std::string feature;  ///< "Ports", "IPFamilies", ...: the name a Service may require
  std::string reason;
  std::string message;

  bool operator==(const Reason&) const = default;
};

enum class Outcome { Serve, Degrade, Refuse };

struct Verdict {
  Outcome outcome = Outcome::Serve;
  std::vector<Reason> reasons;
  std::vector<ServicePort> ports;           ///< those that will be open, in the Service's order
  std::vector<IpFamily> families;           ///< those that get an address, in the Service's order
  std::vector<PortStatus> port_status;      ///< one per Service port; `error` set for closed ones
  std::map<IpFamily, IpAddress> addresses;  ///< asked for and to be had
  Affinity affinity = Affinity::None;
  SourceRanges ranges;
  ProxyProtocol proxy_protocol = ProxyProtocol::None;
  std::vector<std::string> notes;  ///< served as asked, but people may not have meant it

  bool operator==(const Verdict&) const = default;
};

/// What the place offers: which families the docker network has, and who holds which address.
struct NetworkEnvironment {
  std::set<IpFamily> families = {IpFamily::V4};
  /// Null: not known, and nothing is refused for want of it.
  const std::map<IpFamily, AddressSpace>* network = nullptr;
};

Verdict evaluate(const Service& service, const ServiceRequest& request, const Policy& policy,
                 const NetworkEnvironment& environment);
inline Verdict evaluate(const Service& service, const Policy& policy,
                        const NetworkEnvironment& environment) {
  return evaluate(service, request_of(service), policy, environment);
}

/// "PortsNotSupported", or "Multiple" when there are several.
std::string summary_reason(const std::vector<Reason>& reasons);
/// The messages, one sentence each.
std::string summary_message(const std::vector<Reason>& reasons);

}  // namespace kindlb::core
