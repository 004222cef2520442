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

struct Draft {
  const ServiceWorld& world;
  const Policy& policy;
  std::string hash;
  ServiceRequest request;
  Verdict verdict;
  std::map<IpFamily, Cidr> addresses;
  std::map<IpFamily, Path> paths;
  ProxyConfig config;
  Revision revision;
  bool detoured = false;      ///< through node ports, though pods might be reached directly by now
  std::vector<Probe> scouts;  ///< tries of the direct way from there; its routes are in `config`

  const Service& service() const { return *world.service; }
  const std::vector<Condition>& conditions() const { return world.service->status.conditions; }
};

/// Wishes and verdict.
Draft begin_draft(const ServiceWorld& world, const Policy& policy);

/// The family that has no address to give (or may not give one yet), or nothing: then addresses,
/// paths and configuration are there.
std::optional<IpFamily> complete_draft(Draft& draft);

std::vector<Ingress> wanted_ingress(const Draft& draft);
std::vector<Probe> wanted_probes(const Draft& draft);

/// By us: a condition that another provider left behind says nothing about our proxy.
bool reported_serving(const Service& service);

/// The proxy still does what was told before.
bool serves_former(const Draft& draft);

/// These wishes are the ones acted on: the Service carries their hash.
bool is_observed(const Draft& draft);

/// Slices of a new Service have not been seen yet, but may be on their way.
bool endpoints_unknown(const ServiceWorld& world);

/// How much longer kindlb.dev/fault-provisioning-delay keeps this work from being done.
std::optional<std::chrono::milliseconds> delay_left(const Draft& draft);

/// Something else was sent since: what the proxy acknowledged may be over at any moment.
bool is_overtaken(const Draft& draft);

/// These wishes were fulfilled and told before.
bool is_settled(const Draft& draft);

/// Where the work stands, for the conditions.
Standing standing_of(const Draft& draft);

}  // namespace kindlb::core
