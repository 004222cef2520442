// Addresses, paths and configuration of one Service. Addresses come first, because the subnet of an
// address decides how endpoints are reached; the configuration is complete, never a difference.
#include "desired_state.hpp"

#include <algorithm>

namespace kindlb::core {

namespace {

/// A probe succeeds with the first target that answers; more only cost time when all are down.
constexpr std::size_t kTargetsPerProbe = 4;

NetworkEnvironment environment_of(const ServiceSnapshot& snapshot) {
  // A refusal is final until the spec changes: do not refuse for a network that is not known yet.
  if (snapshot.network.empty()) return {.families = {IpFamily::V4, IpFamily::V6}};
  NetworkEnvironment out{.families = {}, .network = &snapshot.network};
  for (const auto& [family, space] : snapshot.network) out.families.insert(family);
  return out;
}

/// Return the addresses this Service may keep, in order of authority: what clients were given in
/// status, what the proxy holds (status may have been lost), what an earlier plan reserved.
std::vector<IpAddress> preferred_addresses(const DesiredState& desired, IpFamily family) {
  auto out = reported_addresses(desired.service(), family);
  const auto& snapshot = desired.snapshot;
  out.insert(out.end(), snapshot.proxy.addresses.begin(), snapshot.proxy.addresses.end());
  const auto& reserved = snapshot.memory.reserved;
  out.insert(out.end(), reserved.begin(), reserved.end());
  return out;
}

/// Return the requested address, else a kept one, else a new one. Adoption before allocation: until
/// `may_allocate`, an address the Service does not hold already is not handed out, because its
/// holder may not have been listed yet.
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

/// Return whether Auto must not choose the direct path. A Service served through node ports stays
/// on them, also after a restart that forgot why (the revision names the path): only a probe can
/// tell whether the direct path works by now, and switching on a guess would break connections.
bool direct_is_blocked(const DesiredState& desired) {
  const auto direct = desired.snapshot.memory.path.direct;
  if (direct == DirectPath::Proven) return false;
  return direct == DirectPath::Blocked ||
         (reported_serving(desired.service()) &&
          desired.snapshot.proxy.acknowledged.through_node_ports());
}

PathInput path_input(const DesiredState& desired, IpFamily family) {
  return {desired.service(), desired.verdict.ports, desired.snapshot.slices,
          *desired.snapshot.nodes, desired.snapshot.network.at(family).subnet};
}

void choose_paths(DesiredState& desired) {
  const auto datapath = datapath_for(desired.request, desired.policy);
  for (const auto& [family, address] : desired.addresses)
    desired.paths.insert_or_assign(
        family, choose_path(path_input(desired, family), datapath, direct_is_blocked(desired)));
}

/// Return the hosts of a backend, in order.
std::vector<IpAddress> hosts_of(const Backend& backend) {
  std::vector<IpAddress> out;
  for (const auto& target : backend.targets)
    if (out.empty() || out.back() != target.address) out.push_back(target.address);
  return out;
}

/// Return whether a TCP port's probe proves the path of this UDP port, too: whichever host answers
/// it is also behind the UDP port.
bool is_proven_by_tcp(const Backend& udp, const ProxyConfig& config) {
  const auto hosts = hosts_of(udp);
  return std::any_of(config.backends.begin(), config.backends.end(), [&](const Backend& backend) {
    if (backend.protocol != Protocol::Tcp || backend.targets.empty()) return false;
    const auto others = hosts_of(backend);
    return std::includes(hosts.begin(), hosts.end(), others.begin(), others.end());
  });
}

/// UDP itself cannot be probed: silence is no proof. What can fail between proxy and pod is the
/// path, and the answer to a TCP connection proves it, even if it is a reset (§2).
std::vector<Probe> probes_of(const ProxyConfig& config) {
  std::vector<Probe> out;
  for (const auto& backend : config.backends) {
    const bool udp = backend.protocol == Protocol::Udp;
    if (backend.targets.empty() || (udp && is_proven_by_tcp(backend, config))) continue;
    const auto count = std::min(kTargetsPerProbe, backend.targets.size());
    out.push_back({.label = backend.name.substr(backend.name.find('/') + 1),
                   .targets = {backend.targets.begin(),
                               backend.targets.begin() + static_cast<long>(count)},
                   .any_answer = udp});
  }
  return out;
}

/// Return the configuration for the direct path, or nothing if it cannot be built.
std::optional<ProxyConfig> direct_config(const DesiredState& desired) {
  std::map<IpFamily, Path> paths;
  for (const auto& [family, address] : desired.addresses) {
    auto path = direct_path(path_input(desired, family));
    if (!path.problem.empty()) return std::nullopt;
    paths.insert_or_assign(family, std::move(path));
  }
  return wanted_config(desired.service(), desired.verdict, desired.addresses, paths);
}

/// Prepare the return from node ports to the direct path: while node ports go on serving, give the
/// proxy the routes to the pods and probe them. Traffic moves only after a probe has succeeded
/// (DirectPath::Proven). Without endpoints there is nothing to probe, and the Service stays on node
/// ports.
void prepare_direct_retry(DesiredState& desired) {
  if (desired.config.direct || datapath_for(desired.request, desired.policy) != Datapath::Auto ||
      !is_settled(desired))
    return;
  const auto direct = direct_config(desired);
  if (!direct || probes_of(*direct).empty()) return;
  desired.on_fallback = true;
  if (desired.snapshot.memory.path.retry != DirectRetry::Due) return;
  desired.direct_probes = probes_of(*direct);
  desired.config.routes = direct->routes;
  desired.revision = revision_of(desired.config);
}

}  // namespace

DesiredState begin_desired_state(const ServiceSnapshot& snapshot, const Policy& policy) {
  DesiredState desired{
      .snapshot = snapshot,
      .policy = policy,
      .hash = observed_hash(*snapshot.service, policy),
      .request = request_of(*snapshot.service),
      .reported = as_reported(*snapshot.service, snapshot.memory.report, snapshot.now)};
  desired.verdict = evaluate(desired.service(), desired.request, policy, environment_of(snapshot));
  return desired;
}

std::optional<IpFamily> complete_desired_state(DesiredState& desired) {
  if (const auto missing = choose_addresses(desired)) return missing;
  choose_paths(desired);
  desired.config =
      wanted_config(desired.service(), desired.verdict, desired.addresses, desired.paths);
  desired.revision = revision_of(desired.config);
  desired.slices = slice_state(desired.service(), desired.verdict.ports, desired.snapshot.slices);
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
