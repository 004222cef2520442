#pragma once
// Refuse, degrade, or serve (KEP-4631, docs/contract.md §3). A pure function of what the Service
// asks for, what the provider supports, and what the network offers. Total: every port, IP family
// and feature of the Service ends up either accepted or named in a reason. Refusal depends only on
// these inputs, never on whether a proxy exists.

#include "kindlb/core/addresses.hpp"
#include "kindlb/core/policy.hpp"
#include "kindlb/core/service.hpp"
#include "kindlb/core/service_request.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace kindlb::core {

/// Why a request is not met. `reason` is a condition reason ("PortsNotSupported") for what can be
/// degraded, and empty for what can only be refused.
struct Reason {
  std::string feature;  ///< "Ports", "IPFamilies", ...: the name a Service may require
  std::string reason;
  std::string message;

  bool operator==(const Reason&) const = default;
};

enum class Outcome { Serve, Degrade, Refuse };

/// The decision, and what is left of the request once it is applied.
struct Verdict {
  Outcome outcome = Outcome::Serve;
  std::vector<Reason> reasons;
  std::vector<ServicePort> ports;           ///< accepted, in the Service's order
  std::vector<IpFamily> families;           ///< accepted, in the Service's order
  std::vector<PortStatus> port_status;      ///< one per Service port; `error` set for closed ones
  std::map<IpFamily, IpAddress> addresses;  ///< requested and available
  Affinity affinity = Affinity::None;
  SourceRanges ranges;
  ProxyProtocol proxy_protocol = ProxyProtocol::None;
  std::vector<std::string> notes;  ///< hints: served as requested, but perhaps not as meant

  bool operator==(const Verdict&) const = default;
};

/// What the docker network offers: IP families, and which addresses are taken.
struct NetworkEnvironment {
  std::set<IpFamily> families = {IpFamily::V4};
  /// Null: not known yet; then no address is rejected.
  const std::map<IpFamily, AddressSpace>* network = nullptr;
};

/// Decide on a Service. `request` must be request_of(service).
Verdict evaluate(const Service& service, const ServiceRequest& request, const Policy& policy,
                 const NetworkEnvironment& environment);
inline Verdict evaluate(const Service& service, const Policy& policy,
                        const NetworkEnvironment& environment) {
  return evaluate(service, request_of(service), policy, environment);
}

/// Return the reason of the Degraded condition: "PortsNotSupported", or "Multiple" for several.
std::string summary_reason(const std::vector<Reason>& reasons);
/// Join the messages, one sentence each.
std::string summary_message(const std::vector<Reason>& reasons);

}  // namespace kindlb::core
