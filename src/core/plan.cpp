#include "kindlb/core/plan.hpp"

#include "desired_state.hpp"

#include <algorithm>

namespace kindlb::core {

namespace {

/// How long a wish that somebody else stands in the way of waits without an event.
constexpr std::chrono::seconds kLookAgain{30};

/// A Warning for each annotation that makes no sense: once per change of the Service.
std::vector<EventNote> mistakes_of(const Draft& draft) {
  std::vector<EventNote> out;
  for (const auto& mistake : draft.request.mistakes)
    out.push_back({EventType::Warning, "InvalidAnnotation", mistake});
  return out;
}

void tell(Plan& plan, const Draft& draft, Standing standing) {
  if (standing.stage == Stage::Serving) plan.told = {draft.hash, draft.revision.shape};
  if (draft.verdict.outcome == Outcome::Degrade) standing.degraded = draft.verdict.reasons;
  plan.write = next_status(draft.service(), draft.hash, standing, draft.world.now);
  if (!plan.write) return;
  plan.events = events_for(draft.service(), *plan.write);
  if (is_observed(draft)) return;
  for (auto& warning : mistakes_of(draft)) plan.events.push_back(std::move(warning));
}

Standing refusal(const Draft& draft) {
  return {.stage = Stage::Refused, .message = summary_message(draft.verdict.reasons)};
}

Plan refuse(const Draft& draft) {
  Plan plan;
  plan.unreserve = true;
  plan.remove_proxy = draft.world.proxy.present || draft.world.proxy.coming;
  tell(plan, draft, refusal(draft));
  // Whoever holds the address that is asked for may let go of it.
  if (!draft.request.addresses.by_family.empty()) plan.again = kLookAgain;
  return plan;
}

std::string exhaustion_text(const ServiceWorld& world, IpFamily family) {
  const auto space = world.network.find(family);
  return std::string("No free ") + name_of(family) + " address is left in " +
         (space == world.network.end() ? "the docker network" : where_from(space->second)) +
         "; delete a Service, widen --ip-range or use a larger docker network.";
}

Plan no_address(const Draft& draft, IpFamily family) {
  Plan plan;
  const auto& world = draft.world;
  const bool former = serves_former(draft);
  if (world.network.empty() && world.trouble) {
    tell(plan, draft,
         {.stage = former ? Stage::FailingOld : Stage::Failing, .message = world.trouble->message});
    return plan;
  }
  if (world.network.empty() || !world.may_allocate) {
    // Nothing is wrong yet: who has which address is still being learned.
    plan.again = std::chrono::milliseconds(100);
    return plan;
  }
  tell(plan, draft,
       {.stage = former ? Stage::FailingOld : Stage::GivenUp,
        .message = exhaustion_text(world, family)});
  plan.again = kLookAgain;
  return plan;
}

/// Whether the first write for these wishes has been accepted: nothing is claimed before.
bool announced(const Draft& draft) {
  return is_observed(draft) && has_finalizer(draft.service()) &&
         find_condition(draft.conditions(), kServingCondition) != nullptr;
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
  const auto probes = is_settled(draft) ? draft.scouts : wanted_probes(draft);
  const bool needs_probe =
      proxy.reach == Reach::Unknown && !endpoints_unknown(world) && !probes.empty();
  if (proxy.sent == draft.revision || (known && !needs_probe)) return;
  if (proxy.rejected == draft.revision || !proxy.live) return;
  plan.apply = draft.config;
  plan.revision = draft.revision;
  plan.probes = probes;
}

/// While a delay lasts a proxy goes on with what it has, or, where Serving was promised to be
/// False, keeps the addresses and answers on none of them.
void hold_proxy(Plan& plan, Draft& draft, std::chrono::milliseconds left) {
  plan.again = left;
  if (reported_serving(draft.service()) || !draft.world.proxy.present) return;
  draft.config.listeners.clear();
  draft.config.backends.clear();
  draft.config.routes.clear();
  draft.revision = revision_of(draft.config);
  drive_proxy(plan, draft);
}

Plan serve(Draft& draft) {
  if (const auto family = complete_draft(draft)) return no_address(draft, *family);
  Plan plan;
  for (const auto& [family, address] : draft.addresses) {
    plan.addresses.push_back(address.address);
    plan.prepare.push_back(address);
  }
  plan.may_fall_back =
      draft.config.direct && datapath_for(draft.request, draft.policy) == Datapath::Auto;
  plan.detoured = draft.detoured;
  plan.scouting = !draft.scouts.empty() && draft.world.proxy.acknowledged == draft.revision &&
                  draft.world.proxy.sent.empty();
  tell(plan, draft, standing_of(draft));
  const auto left = delay_left(draft);
  if (!left && !draft.request.faults.infrastructure.empty()) {
    plan.remove_proxy = draft.world.proxy.present || draft.world.proxy.coming;
    return plan;
  }
  if (announced(draft)) {
    if (left)
      hold_proxy(plan, draft, *left);
    else
      drive_proxy(plan, draft);
  }
  if (endpoints_unknown(draft.world) && !plan.again) plan.again = kSliceGrace - draft.world.age;
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

/// Without what any provider wrote on it.
Service as_new(Service service) {
  service.status = {};
  service.annotations.erase(kObservedAnnotation);
  return service;
}

/// As if a proxy had done all that the draft says and had reached somebody through it.
Standing standing_once_done(const Draft& draft) {
  const auto service = as_new(draft.service());
  auto world = draft.world;
  world.service = &service;
  world.proxy = {.present = true, .live = true, .acknowledged = draft.revision};
  world.proxy.reach = Reach::Reached;
  world.age = kSliceGrace;
  world.trouble.reset();
  Draft done{.world = world,
             .policy = draft.policy,
             .hash = draft.hash,
             .request = draft.request,
             .verdict = draft.verdict,
             .addresses = draft.addresses,
             .paths = draft.paths,
             .config = draft.config,
             .revision = draft.revision};
  done.request.faults.provisioning_delay = {};
  return standing_of(done);
}

}  // namespace

Plan plan_service(const ServiceWorld& world, const Policy& policy) {
  switch (claim_of(*world.service, policy)) {
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
  auto draft = begin_draft(world, policy);
  return draft.verdict.outcome == Outcome::Refuse ? refuse(draft) : serve(draft);
}

Forecast foresee(const ServiceWorld& world, const Policy& policy) {
  Forecast out{.claim = claim_of(*world.service, policy)};
  if (out.claim != Claim::Ours) return out;
  auto draft = begin_draft(world, policy);
  out.verdict = draft.verdict;
  out.warnings = mistakes_of(draft);
  const bool refused = draft.verdict.outcome == Outcome::Refuse;
  auto standing = refusal(draft);
  if (const auto family = refused ? std::nullopt : complete_draft(draft))
    standing = {.stage = Stage::GivenUp, .message = exhaustion_text(world, *family)};
  else if (!refused)
    standing = standing_once_done(draft);
  if (standing.stage == Stage::GivenUp) out.failure = standing.message;
  if (standing.stage == Stage::Serving) out.config = draft.config;
  if (draft.verdict.outcome == Outcome::Degrade) standing.degraded = draft.verdict.reasons;
  out.status = next_status(as_new(*world.service), draft.hash, standing, world.now);
  return out;
}

}  // namespace kindlb::core
