#pragma once
// Everything the planning of one Service of ours works on: its wishes, the verdict, and what its
// proxy would be told. Built once per plan; the rest of the plan only reads it.

#include "kindlb/core/plan.hpp"
#include "kindlb/core/service_request.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::core {

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
  bool on_fallback = false;  ///< through node ports, though pods might be reached directly by now
  std::vector<Probe>
      direct_probes;  ///< tries of the direct way from there; its routes are in `config`

  const Service& service() const { return *snapshot.service; }
  const std::vector<Condition>& conditions() const { return snapshot.service->status.conditions; }
};

/// Wishes and verdict.
DesiredState begin_desired_state(const ServiceSnapshot& snapshot, const Policy& policy);

/// The family that has no address to give (or may not give one yet), or nothing: then addresses,
/// paths and configuration are there.
std::optional<IpFamily> complete_desired_state(DesiredState& desired);

std::vector<Ingress> wanted_ingress(const DesiredState& desired);
std::vector<Probe> wanted_probes(const DesiredState& desired);

/// By us: a condition that another provider left behind says nothing about our proxy.
bool reported_serving(const Service& service);

/// The proxy still does what was told before.
bool serves_previous(const DesiredState& desired);

/// These wishes are the ones acted on: the Service carries their hash.
bool is_observed(const DesiredState& desired);

/// Slices of a new Service have not been seen yet, but may be on their way.
bool endpoints_unknown(const ServiceSnapshot& snapshot);

/// How much longer kindlb.dev/fault-provisioning-delay keeps this work from being done.
std::optional<std::chrono::milliseconds> delay_left(const DesiredState& desired);

/// Something else was sent since: what the proxy acknowledged may be over at any moment.
bool is_overtaken(const DesiredState& desired);

/// These wishes were fulfilled and told before.
bool is_settled(const DesiredState& desired);

/// Where the work stands, for the conditions.
Progress progress_of(const DesiredState& desired);

}  // namespace kindlb::core
