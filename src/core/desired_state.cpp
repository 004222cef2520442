#include "desired_state.hpp"

#include <algorithm>

namespace kindlb::core {

namespace {

constexpr std::size_t kTargetsPerProbe = 4;

NetworkEnvironment environment_of(const ServiceSnapshot& snapshot) {
  // Before the network is known nothing is refused for want of it.
  if (snapshot.network.empty()) return {.families = {IpFamily::V4, IpFamily::V6}};
  NetworkEnvironment out{.families = {}, .network = &snapshot.network};
  for (const auto& [family, space] : snapshot.network) out.families.insert(family);
  return out;
}

/// What this Service may keep, the best claim first.
std::vector<IpAddress> preferred_addresses(const DesiredState& desired, IpFamily family) {
  auto out = reported_addresses(desired.service(), family);
  const auto& snapshot = desired.snapshot;
  out.insert(out.end(), snapshot.proxy.addresses.begin(), snapshot.proxy.addresses.end());
  out.insert(out.end(), snapshot.reserved.begin(), snapshot.reserved.end());
  return out;
}

std::optional<IpAddress> address_for(const DesiredState& desired, IpFamily family,
                                     const AddressSpace& space) {
  const auto preferred = preferred_addresses(desired, family);
  const auto requested = desired.verdict.addresses.find(family);
  const auto address = requested != desired.verdict.addresses.end()
                           ? std::optional(requested->second)
                           : choose_address(space, preferred);
  if (!address) return std::nullopt;
  const bool kept = std::find(preferred.begin(), preferred.end(), *address) != preferred.end();
  return kept || desired.snapshot.may_allocate ? address : std::nullopt;
}

std::optional<IpFamily> choose_addresses(DesiredState& desired) {
  for (const auto family : desired.verdict.families) {
    const auto space = desired.snapshot.network.find(family);
    if (space == desired.snapshot.network.end()) return family;
    const auto address = address_for(desired, family, space->second);
    if (!address) return family;
    desired.addresses.insert_or_assign(family, Cidr{*address, space->second.subnet.length});
  }
  return std::nullopt;
}

/// Direct is not tried again under a Service that is served through node ports: only a probe can
/// tell whether it works by now, and connections would pay for a guess.
bool direct_is_blocked(const ServiceSnapshot& snapshot) {
  if (snapshot.direct_proven) return false;
  return snapshot.direct_blocked ||
         (reported_serving(*snapshot.service) && snapshot.proxy.acknowledged.through_node_ports());
}

PathInput path_input(const DesiredState& desired, IpFamily family) {
  return {desired.service(), desired.verdict.ports, desired.snapshot.slices,
          *desired.snapshot.nodes, desired.snapshot.network.at(family).subnet};
}

void choose_paths(DesiredState& desired) {
  const auto datapath = datapath_for(desired.request, desired.policy);
  for (const auto& [family, address] : desired.addresses)
    desired.paths.insert_or_assign(family, choose_path(path_input(desired, family), datapath,
                                                       direct_is_blocked(desired.snapshot)));
}

std::vector<Probe> probes_of(const ProxyConfig& config) {
  std::vector<Probe> out;
  for (const auto& backend : config.backends) {
    if (backend.protocol != Protocol::Tcp || backend.targets.empty()) continue;
    const auto count = std::min(kTargetsPerProbe, backend.targets.size());
    out.push_back({backend.name.substr(backend.name.find('/') + 1),
                   {backend.targets.begin(), backend.targets.begin() + static_cast<long>(count)}});
  }
  return out;
}

/// What the proxy would be told if pods were reached directly; nothing where that cannot work.
std::optional<ProxyConfig> direct_config(const DesiredState& desired) {
  std::map<IpFamily, Path> paths;
  for (const auto& [family, address] : desired.addresses) {
    auto path = direct_path(path_input(desired, family));
    if (!path.problem.empty()) return std::nullopt;
    paths.insert_or_assign(family, std::move(path));
  }
  return wanted_config(desired.service(), desired.verdict, desired.addresses, paths);
}

/// The way back: while node ports go on serving, the proxy gets the routes to the pods and tries
/// them. Without TCP there is nothing to try; then the node ports stay.
void prepare_direct_retry(DesiredState& desired) {
  if (desired.config.direct || datapath_for(desired.request, desired.policy) != Datapath::Auto ||
      !is_settled(desired))
    return;
  const auto direct = direct_config(desired);
  if (!direct || probes_of(*direct).empty()) return;
  desired.on_fallback = true;
  if (!desired.snapshot.retry_direct) return;
  desired.direct_probes = probes_of(*direct);
  desired.config.routes = direct->routes;
  desired.revision = revision_of(desired.config);
}

}  // namespace

DesiredState begin_desired_state(const ServiceSnapshot& snapshot, const Policy& policy) {
  const auto& service = *snapshot.service;
  DesiredState desired{.snapshot = snapshot,
                       .policy = policy,
                       .hash = observed_hash(service, policy),
                       .request = request_of(service)};
  desired.verdict = evaluate(service, desired.request, policy, environment_of(snapshot));
  return desired;
}

std::optional<IpFamily> complete_desired_state(DesiredState& desired) {
  if (const auto missing = choose_addresses(desired)) return missing;
  choose_paths(desired);
  desired.config =
      wanted_config(desired.service(), desired.verdict, desired.addresses, desired.paths);
  desired.revision = revision_of(desired.config);
  prepare_direct_retry(desired);
  return std::nullopt;
}

std::vector<Ingress> wanted_ingress(const DesiredState& desired) {
  std::vector<Ingress> out;
  for (const auto family : desired.verdict.families)
    out.push_back({.ip = desired.addresses.at(family).address.text(),
                   .hostname = "",
                   .ip_mode = "Proxy",
                   .ports = desired.verdict.port_status});
  return out;
}

std::vector<Probe> wanted_probes(const DesiredState& desired) {
  return probes_of(desired.config);
}

}  // namespace kindlb::core
