#include "kindlb/core/plan.hpp"

#include "kindlb/core/eligibility.hpp"

#include <algorithm>
#include <set>

namespace kindlb::core {

namespace {

constexpr std::size_t kTargetsPerProbe = 4;

/// By us: a condition that another provider left behind says nothing about our proxy.
bool reported_serving(const Service& service) {
  return was_ours(service) && is_true(service.status.conditions, kServingCondition);
}

/// Everything the planning of one served Service works on.
struct Draft {
  const ServiceWorld& world;
  const Policy& policy;
  std::string hash;
  Verdict verdict;
  std::map<IpFamily, Cidr> addresses;
  std::map<IpFamily, Path> paths;
  ProxyConfig config;
  Revision revision;
};

Surroundings surroundings_of(const ServiceWorld& world, const Policy& policy) {
  Surroundings out;
  out.families.clear();
  for (const auto& [family, space] : world.network) out.families.insert(family);
  // Before the network is known nothing is refused for want of it.
  if (out.families.empty()) out.families = {IpFamily::V4, IpFamily::V6};
  out.direct_path = policy.datapath != Datapath::NodePort;
  return out;
}

/// False: some family has no free address, or none may be given out yet.
bool choose_addresses(Draft& draft) {
  const auto& world = draft.world;
  for (const auto family : draft.verdict.families) {
    const auto space = world.network.find(family);
    if (space == world.network.end()) return false;
    auto preferred = reported_addresses(*world.service, family);
    preferred.insert(preferred.end(), world.proxy.addresses.begin(), world.proxy.addresses.end());
    preferred.insert(preferred.end(), world.reserved.begin(), world.reserved.end());
    const auto address = choose_address(space->second, preferred);
    if (!address) return false;
    const bool kept = std::find(preferred.begin(), preferred.end(), *address) != preferred.end();
    if (!kept && !world.may_allocate) return false;
    draft.addresses.insert_or_assign(family, Cidr{*address, space->second.subnet.length});
  }
  return true;
}

/// Direct is not tried again under a Service that is served through node ports: only a probe could
/// tell whether it works by now, and connections would pay for the guess.
bool direct_is_blocked(const ServiceWorld& world) {
  return world.direct_blocked ||
         (reported_serving(*world.service) && world.proxy.acknowledged.through_node_ports());
}

void choose_paths(Draft& draft) {
  for (const auto& [family, address] : draft.addresses) {
    const PathQuestion question{*draft.world.service, draft.verdict.ports, draft.world.slices,
                                *draft.world.nodes, draft.world.network.at(family).subnet};
    draft.paths.insert_or_assign(
        family, choose_path(question, draft.policy.datapath, direct_is_blocked(draft.world)));
  }
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
  std::vector<Probe> out;
  for (const auto& backend : draft.config.backends) {
    if (backend.protocol != Protocol::Tcp || backend.targets.empty()) continue;
    const auto count = std::min(kTargetsPerProbe, backend.targets.size());
    out.push_back({backend.name.substr(backend.name.find('/') + 1),
                   {backend.targets.begin(), backend.targets.begin() + static_cast<long>(count)}});
  }
  return out;
}

bool endpoints_unknown(const ServiceWorld& world) {
  return world.service->spec.has_selector && world.slices.empty() && world.age < kSliceGrace;
}

std::string path_problem(const Draft& draft) {
  for (const auto& [family, path] : draft.paths)
    if (!path.problem.empty() &&
        path.targets.end() == std::find_if(path.targets.begin(), path.targets.end(),
                                           [](const auto& item) { return !item.second.empty(); }))
      return path.problem;
  return {};
}

bool is_rejected(const Draft& draft) {
  return !draft.world.proxy.rejection.empty() && draft.world.proxy.rejected == draft.revision;
}

/// These wishes were fulfilled and told before. What changes now are endpoints, which come and go
/// without a word; new wishes that change nothing for the proxy need no new proof either.
bool is_settled(const Draft& draft) {
  const auto& service = *draft.world.service;
  return reported_serving(service) && !is_true(service.status.conditions, kProvisioningCondition) &&
         (service.annotations.at(kObservedAnnotation) == draft.hash ||
          draft.world.proxy.acknowledged == draft.revision);
}

/// Something else was sent since: what the proxy acknowledged may be over at any moment.
bool is_overtaken(const Draft& draft) {
  const auto& sent = draft.world.proxy.sent;
  return !sent.empty() && sent != draft.revision;
}

/// True when the proxy does what the Service asks and somebody could be reached through it.
bool fulfilled(const Draft& draft) {
  const auto& proxy = draft.world.proxy;
  if (!proxy.present || !proxy.live || proxy.acknowledged.shape != draft.revision.shape)
    return false;
  if (is_rejected(draft)) return false;
  if (is_settled(draft)) return true;
  if (endpoints_unknown(draft.world) || proxy.acknowledged != draft.revision) return false;
  if (is_overtaken(draft)) return false;
  return wanted_probes(draft).empty() || proxy.reach == Reach::Reached ||
         proxy.reach == Reach::Refused;
}

std::string healing_text(const ProxyView& proxy) {
  return "The proxy is being healed: " +
         (proxy.trouble.empty() ? "its Envoy was started again." : proxy.trouble);
}

Standing unfulfilled(const Draft& draft) {
  const auto& world = draft.world;
  const auto& proxy = world.proxy;
  const bool served = reported_serving(*world.service);
  const bool serves_former = served && proxy.present && proxy.live && !proxy.acknowledged.empty();
  const auto failing = serves_former ? Stage::FailingOld : Stage::Failing;
  if (is_rejected(draft))
    return {.stage = failing, .message = "The proxy refused the configuration: " + proxy.rejection};
  if (world.trouble) return {.stage = failing, .message = world.trouble->message};
  if (served && !proxy.present)
    return {.stage = Stage::Failing,
            .message =
                "The proxy container is gone; another one is being started for the same "
                "address."};
  if (proxy.present && !serves_former && (served || (!proxy.live && !proxy.trouble.empty())))
    return {.stage = Stage::Failing, .message = healing_text(proxy)};
  if (proxy.present && proxy.live && proxy.acknowledged == draft.revision &&
      proxy.reach == Reach::Unreachable)
    return {.stage = Stage::Failing,
            .message = "No ready endpoint could be reached: " + proxy.reach_detail};
  if (serves_former)
    return {.stage = Stage::Updating, .message = "The new specification is being set up."};
  const auto* before = find_condition(world.service->status.conditions, kServingCondition);
  // A failure stays told until it is over: going back to "Provisioning" between two tries would
  // only make the status flicker.
  if (before != nullptr && before->reason == "Infrastructure" && was_ours(*world.service) &&
      world.service->annotations.at(kObservedAnnotation) == draft.hash)
    return {.stage = Stage::Failing, .message = before->message};
  return {.stage = Stage::Working, .message = "A proxy is being set up."};
}

Standing standing_of(const Draft& draft) {
  const auto problem = path_problem(draft);
  if (!problem.empty())
    return {.stage = Stage::GivenUp,
            .message = "There is no way to the endpoints: " + problem + "."};
  if (!fulfilled(draft)) return unfulfilled(draft);
  Standing out{.stage = Stage::Serving, .ingress = wanted_ingress(draft)};
  if (draft.world.proxy.reach == Reach::Refused)
    out.message = "Note: " + draft.world.proxy.reach_detail + ".";
  return out;
}

void tell(Plan& plan, const Draft& draft, Standing standing) {
  if (draft.verdict.outcome == Outcome::Degrade) standing.degraded = draft.verdict.reasons;
  plan.write = next_status(*draft.world.service, draft.hash, standing, draft.world.now);
  if (plan.write) plan.events = events_for(*draft.world.service, *plan.write);
}

Plan refuse(const Draft& draft) {
  Plan plan;
  plan.remove_proxy = draft.world.proxy.present;
  plan.write =
      next_status(*draft.world.service, draft.hash,
                  {.stage = Stage::Refused, .message = summary_message(draft.verdict.reasons)},
                  draft.world.now);
  if (plan.write) plan.events = events_for(*draft.world.service, *plan.write);
  return plan;
}

Plan no_address(const Draft& draft) {
  Plan plan;
  const auto& world = draft.world;
  if (world.network.empty() && world.trouble) {
    tell(plan, draft, {.stage = Stage::Failing, .message = world.trouble->message});
    return plan;
  }
  if (world.network.empty() || !world.may_allocate) {
    // Nothing is wrong yet: who has which address is still being learned.
    plan.again = std::chrono::milliseconds(100);
    return plan;
  }
  std::string where;
  for (const auto& [family, space] : world.network)
    where += (where.empty() ? "" : ", ") + space.subnet.first().text() + "/" +
             std::to_string(space.subnet.length);
  tell(plan, draft,
       {.stage = Stage::GivenUp,
        .message = "No free address is left in " + where +
                   "; delete a Service or use a larger docker network."});
  plan.again = std::chrono::seconds(30);
  return plan;
}

/// Whether the first write for these wishes has been accepted: nothing is claimed before.
bool announced(const Draft& draft) {
  const auto& service = *draft.world.service;
  const auto observed = service.annotations.find(kObservedAnnotation);
  return observed != service.annotations.end() && observed->second == draft.hash &&
         has_finalizer(service) &&
         find_condition(service.status.conditions, kServingCondition) != nullptr;
}

/// The message for the proxy, if it has not got it already.
void drive_proxy(Plan& plan, const Draft& draft) {
  const auto& world = draft.world;
  const auto& proxy = world.proxy;
  if (!proxy.present) {
    plan.claim = !proxy.coming && !world.trouble;
    return;
  }
  const bool known = proxy.acknowledged == draft.revision && proxy.live && !is_overtaken(draft);
  const bool needs_probe = !is_settled(draft) && proxy.reach == Reach::Unknown &&
                           !endpoints_unknown(world) && !wanted_probes(draft).empty();
  if (proxy.sent == draft.revision || (known && !needs_probe)) return;
  if (proxy.rejected == draft.revision || !proxy.live) return;
  plan.apply = draft.config;
  plan.revision = draft.revision;
  if (!is_settled(draft)) plan.probes = wanted_probes(draft);
}

Plan serve(Draft& draft) {
  if (!choose_addresses(draft)) return no_address(draft);
  choose_paths(draft);
  draft.config = wanted_config(*draft.world.service, draft.verdict, draft.addresses, draft.paths);
  draft.revision = revision_of(draft.config);

  Plan plan;
  for (const auto& [family, address] : draft.addresses) {
    plan.addresses.push_back(address.address);
    plan.prepare.push_back(address);
  }
  plan.direct = draft.config.direct;
  tell(plan, draft, standing_of(draft));
  if (announced(draft)) drive_proxy(plan, draft);
  if (endpoints_unknown(draft.world)) plan.again = kSliceGrace - draft.world.age;
  return plan;
}

Plan let_go(const ServiceWorld& world, Teardown teardown) {
  Plan plan;
  if (world.proxy.present || world.proxy.coming)
    plan.remove_proxy = true;
  else
    plan.teardown = teardown;
  return plan;
}

}  // namespace

Plan plan_service(const ServiceWorld& world, const Policy& policy) {
  const auto& service = *world.service;
  switch (claim_of(service, policy)) {
    case Claim::NotOurs: {
      Plan plan;
      plan.remove_proxy = world.proxy.present || world.proxy.coming;
      return plan;
    }
    case Claim::ReleaseDeleted:
      return let_go(world, Teardown::DropFinalizer);
    case Claim::ReleaseChanged:
      return let_go(world, Teardown::TakeBack);
    case Claim::Ours:
      break;
  }
  Draft draft{.world = world, .policy = policy, .hash = observed_hash(service)};
  draft.verdict = judge(service, policy, surroundings_of(world, policy));
  return draft.verdict.outcome == Outcome::Refuse ? refuse(draft) : serve(draft);
}

}  // namespace kindlb::core
