#include "desired_state.hpp"

#include <algorithm>

namespace kindlb::core {

namespace {

constexpr std::size_t kTargetsPerProbe = 4;

Surroundings surroundings_of(const ServiceWorld& world) {
  // Before the network is known nothing is refused for want of it.
  if (world.network.empty()) return {.families = {IpFamily::V4, IpFamily::V6}};
  Surroundings out{.families = {}, .network = &world.network};
  for (const auto& [family, space] : world.network) out.families.insert(family);
  return out;
}

/// What this Service may keep, the best claim first.
std::vector<IpAddress> preferred_addresses(const Draft& draft, IpFamily family) {
  auto out = reported_addresses(draft.service(), family);
  const auto& world = draft.world;
  out.insert(out.end(), world.proxy.addresses.begin(), world.proxy.addresses.end());
  out.insert(out.end(), world.reserved.begin(), world.reserved.end());
  return out;
}

std::optional<IpAddress> address_for(const Draft& draft, IpFamily family,
                                     const AddressSpace& space) {
  const auto preferred = preferred_addresses(draft, family);
  const auto requested = draft.verdict.addresses.find(family);
  const auto address = requested != draft.verdict.addresses.end()
                           ? std::optional(requested->second)
                           : choose_address(space, preferred);
  if (!address) return std::nullopt;
  const bool kept = std::find(preferred.begin(), preferred.end(), *address) != preferred.end();
  return kept || draft.world.may_allocate ? address : std::nullopt;
}

std::optional<IpFamily> choose_addresses(Draft& draft) {
  for (const auto family : draft.verdict.families) {
    const auto space = draft.world.network.find(family);
    if (space == draft.world.network.end()) return family;
    const auto address = address_for(draft, family, space->second);
    if (!address) return family;
    draft.addresses.insert_or_assign(family, Cidr{*address, space->second.subnet.length});
  }
  return std::nullopt;
}

/// Direct is not tried again under a Service that is served through node ports: only a probe can
/// tell whether it works by now, and connections would pay for a guess.
bool direct_is_blocked(const ServiceWorld& world) {
  if (world.direct_proven) return false;
  return world.direct_blocked ||
         (reported_serving(*world.service) && world.proxy.acknowledged.through_node_ports());
}

PathQuestion question_for(const Draft& draft, IpFamily family) {
  return {draft.service(), draft.verdict.ports, draft.world.slices, *draft.world.nodes,
          draft.world.network.at(family).subnet};
}

void choose_paths(Draft& draft) {
  const auto datapath = datapath_for(draft.request, draft.policy);
  for (const auto& [family, address] : draft.addresses)
    draft.paths.insert_or_assign(
        family, choose_path(question_for(draft, family), datapath, direct_is_blocked(draft.world)));
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
std::optional<ProxyConfig> direct_config(const Draft& draft) {
  std::map<IpFamily, Path> paths;
  for (const auto& [family, address] : draft.addresses) {
    auto path = direct_path(question_for(draft, family));
    if (!path.problem.empty()) return std::nullopt;
    paths.insert_or_assign(family, std::move(path));
  }
  return wanted_config(draft.service(), draft.verdict, draft.addresses, paths);
}

/// The way back: while node ports go on serving, the proxy gets the routes to the pods and tries
/// them. Without TCP there is nothing to try; then the node ports stay.
void prepare_scouts(Draft& draft) {
  if (draft.config.direct || datapath_for(draft.request, draft.policy) != Datapath::Auto ||
      !is_settled(draft))
    return;
  const auto direct = direct_config(draft);
  if (!direct || probes_of(*direct).empty()) return;
  draft.detoured = true;
  if (!draft.world.scout) return;
  draft.scouts = probes_of(*direct);
  draft.config.routes = direct->routes;
  draft.revision = revision_of(draft.config);
}

}  // namespace

Draft begin_draft(const ServiceWorld& world, const Policy& policy) {
  const auto& service = *world.service;
  Draft draft{.world = world,
              .policy = policy,
              .hash = observed_hash(service, policy),
              .request = request_of(service)};
  draft.verdict = judge(service, draft.request, policy, surroundings_of(world));
  return draft;
}

std::optional<IpFamily> complete_draft(Draft& draft) {
  if (const auto missing = choose_addresses(draft)) return missing;
  choose_paths(draft);
  draft.config = wanted_config(draft.service(), draft.verdict, draft.addresses, draft.paths);
  draft.revision = revision_of(draft.config);
  prepare_scouts(draft);
  return std::nullopt;
}

std::vector<Ingress> wanted_ingress(const Draft& draft) {
  std::vector<Ingress> out;
  for (const auto family : draft.verdict.families)
    out.push_back({.ip = draft.addresses.at(family).address.text(),
                   .hostname = "",
                   .ip_mode = "Proxy",
                   .ports = draft.verdict.port_status});
  return out;
}

std::vector<Probe> wanted_probes(const Draft& draft) {
  return probes_of(draft.config);
}

}  // namespace kindlb::core
