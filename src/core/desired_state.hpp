#pragma once
// The desired state of one Service: its request, the verdict on it, and the configuration its proxy
// should have. Built once per plan in two steps (begin, complete); the rest of the plan compares it
// with the snapshot and only reads it. Private to core.

#include "kindlb/core/plan.hpp"
#include "kindlb/core/service_request.hpp"
#include "slice_lag.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::core {

/// Refers to the snapshot and the policy, which must outlive it.
struct DesiredState {
  const ServiceSnapshot& snapshot;
  const Policy& policy;
  std::string hash;
  ServiceRequest request;
  Verdict verdict;
  std::map<IpFamily, Cidr> addresses;
  std::map<IpFamily, Path> paths;
  ProxyConfig config;
  Revision revision;
  SliceState slices;         ///< before completion: up to date, nothing to wait for
  bool on_fallback = false;  ///< node ports are used although the direct path could be retried
  /// Set while the direct path is retried: probes to run over it. The routes they need are in
  /// `config`, whose listeners still use node ports.
  std::vector<Probe> direct_probes;
  Service reported;  ///< the Service with the status that was reported of it (core/report)

  const Service& service() const { return reported; }
  const std::vector<Condition>& conditions() const { return reported.status.conditions; }
};

/// Fill in hash, request and verdict.
DesiredState begin_desired_state(const ServiceSnapshot& snapshot, const Policy& policy);

/// Fill in addresses, paths, configuration, revision and the state of the slices. On failure return
/// the family that gets no address: none is left, or none may be allocated yet.
std::optional<IpFamily> complete_desired_state(DesiredState& desired);

std::vector<Ingress> wanted_ingress(const DesiredState& desired);
std::vector<Probe> wanted_probes(const DesiredState& desired);

/// Return whether the Service is reported as serving by us: a condition that another provider left
/// behind says nothing about our proxy.
bool reported_serving(const Service& service);

/// Return whether the proxy still serves the configuration reported before this change.
bool serves_previous(const DesiredState& desired);

/// Return whether this spec has been acted on: the Service's mark has its hash.
bool is_observed(const DesiredState& desired);

/// Return whether the endpoints of this spec are not known yet, because its EndpointSlices are on
/// their way: surely, or perhaps and for no longer than kSliceGrace.
bool endpoints_unknown(const DesiredState& desired);

/// Return for how much longer EndpointSlices that lag are within their time (kSliceGrace).
std::optional<std::chrono::milliseconds> grace_left(const DesiredState& desired);

/// Return for how much longer kindlb.dev/fault-provisioning-delay holds this work back.
std::optional<std::chrono::milliseconds> delay_left(const DesiredState& desired);

/// Return whether another revision is in flight: then what the proxy acknowledged may be replaced
/// at any moment and proves nothing.
bool is_overtaken(const DesiredState& desired);

/// Return whether this desired state has been reached and reported before, so that only endpoints
/// can have changed.
bool is_settled(const DesiredState& desired);

/// Compare the desired state with the snapshot, for the conditions.
Progress progress_of(const DesiredState& desired);

}  // namespace kindlb::core
