// The plan of one Service: refuse, serve, or release. What is desired is in desired_state, how far
// it is in plan_progress; here is only what to do next, and in which order.
#include "kindlb/core/plan.hpp"

#include "desired_state.hpp"

#include <algorithm>

namespace kindlb::core {

namespace {

/// When to plan again while another container holds what the Service needs: its release causes no
/// event that we watch.
constexpr std::chrono::seconds kLookAgain{30};

/// Return a Warning Event for each ignored annotation. Sent once per change of the Service.
std::vector<EventNote> annotation_warnings(const DesiredState& desired) {
  std::vector<EventNote> out;
  for (const auto& mistake : desired.request.mistakes)
    out.push_back({EventType::Warning, "InvalidAnnotation", mistake});
  return out;
}

/// Return whether a restarted kindlb finds a Service served whose conditions the API does not have:
/// nothing happened to it, so there is no Event.
bool is_found_served(const DesiredState& desired, const Progress& progress) {
  const auto& shown = desired.snapshot.service->status.conditions;
  return !desired.snapshot.memory.report && progress.phase == Phase::Serving &&
         reported_serving(desired.service()) && !is_true(shown, kServingCondition);
}

/// Add the status write for `progress`, and its Events, to the plan.
void report(Plan& plan, const DesiredState& desired, Progress progress) {
  if (progress.phase == Phase::Serving) plan.last_reported = {desired.hash, desired.revision.shape};
  if (desired.verdict.outcome == Outcome::Degrade) progress.degraded = desired.verdict.reasons;
  const auto& shown = *desired.snapshot.service;
  const auto& report = desired.snapshot.memory.report;
  auto meant = status_for(desired.service(), desired.hash, progress, desired.snapshot.now, report);
  if (must_write(meant, shown, report, desired.policy))
    plan.write = written_form(meant, desired.policy);
  if (!is_found_served(desired, progress)) plan.events = events_for(desired.service(), meant);
  plan.report = Report{.meant = std::move(meant), .shown = owned_fields(shown)};
  if (is_observed(desired) || !plan.write) return;
  for (auto& warning : annotation_warnings(desired)) plan.events.push_back(std::move(warning));
}

Progress refusal(const DesiredState& desired) {
  return {.phase = Phase::Refused, .message = summary_message(desired.verdict.reasons)};
}

Plan refuse(const DesiredState& desired) {
  Plan plan;
  plan.unreserve = true;
  plan.remove_proxy = desired.snapshot.proxy.present || desired.snapshot.proxy.coming;
  report(plan, desired, refusal(desired));
  // The holder of the requested address may release it.
  if (!desired.request.addresses.by_family.empty()) plan.again = kLookAgain;
  return plan;
}

std::string exhaustion_text(const ServiceSnapshot& snapshot, IpFamily family) {
  const auto space = snapshot.network.find(family);
  return std::string("No free ") + name_of(family) + " address is left in " +
         (space == snapshot.network.end() ? "the docker network" : where_from(space->second)) +
         "; delete a Service, widen --ip-range or use a larger docker network.";
}

/// No address for `family`: because the network is not known (a failure, or too early to tell), or
/// because it is exhausted.
Plan no_address(const DesiredState& desired, IpFamily family) {
  Plan plan;
  const auto& snapshot = desired.snapshot;
  const bool former = serves_previous(desired);
  if (snapshot.network.empty() && snapshot.memory.trouble) {
    report(plan, desired,
           {.phase = former ? Phase::UpdateFailing : Phase::Failing,
            .message = snapshot.memory.trouble->message});
    return plan;
  }
  if (snapshot.network.empty() || !snapshot.may_allocate) {
    // Not a failure: the addresses in use are still being listed. Write nothing meanwhile.
    plan.again = std::chrono::milliseconds(100);
    return plan;
  }
  report(plan, desired,
         {.phase = former ? Phase::UpdateFailing : Phase::Failing,
          .message = exhaustion_text(snapshot, family)});
  plan.again = kLookAgain;
  return plan;
}

/// Return whether the first write for this spec was accepted. Nothing is created before: the
/// finalizer in it is what guarantees the cleanup (docs/contract.md §1). The conditions of that
/// write prove nothing, because not every server keeps them.
bool announced(const DesiredState& desired) {
  return is_observed(desired) && has_finalizer(desired.service());
}

/// Claim a proxy, or send it the desired configuration unless it has it, is about to have it, or
/// has rejected it. A rejected revision is not sent again before the retry clears it.
void drive_proxy(Plan& plan, const DesiredState& desired) {
  const auto& snapshot = desired.snapshot;
  const auto& proxy = snapshot.proxy;
  if (!proxy.present) {
    plan.claim = !proxy.coming && !snapshot.memory.trouble;
    return;
  }
  // A port that the EndpointSlices do not have yet would lose its endpoints: what is served now
  // stays until they follow.
  if (endpoints_unknown(desired) && !is_settled(desired) && serves_previous(desired)) return;
  const bool known = proxy.acknowledged == desired.revision && proxy.live && !is_overtaken(desired);
  const auto probes = is_settled(desired) ? desired.direct_probes : wanted_probes(desired);
  const bool needs_probe =
      proxy.reach == Reach::Unknown && !endpoints_unknown(desired) && !probes.empty();
  if (proxy.sent == desired.revision || (known && !needs_probe)) return;
  if (proxy.rejected == desired.revision || !proxy.live) return;
  plan.apply = desired.config;
  plan.revision = desired.revision;
  plan.probes = probes;
}

/// During an injected delay a proxy goes on with what it has. Where Serving is reported as False it
/// keeps the addresses but must not answer on them, or the condition would lie.
void hold_proxy(Plan& plan, DesiredState& desired, std::chrono::milliseconds left) {
  plan.again = left;
  if (reported_serving(desired.service()) || !desired.snapshot.proxy.present) return;
  desired.config.listeners.clear();
  desired.config.backends.clear();
  desired.config.routes.clear();
  desired.revision = revision_of(desired.config);
  drive_proxy(plan, desired);
}

/// The order matters: addresses first (everything else depends on them), then the status write,
/// then the proxy, and the proxy only once the write has been accepted.
Plan serve(DesiredState& desired) {
  if (const auto family = complete_desired_state(desired)) return no_address(desired, *family);
  Plan plan;
  for (const auto& [family, address] : desired.addresses) plan.addresses.push_back(address.address);
  plan.may_fall_back =
      desired.config.direct && datapath_for(desired.request, desired.policy) == Datapath::Auto;
  plan.on_fallback = desired.on_fallback;
  plan.direct_retried = !desired.direct_probes.empty() &&
                        desired.snapshot.proxy.acknowledged == desired.revision &&
                        desired.snapshot.proxy.sent.empty();
  report(plan, desired, progress_of(desired));
  // The address check runs while the first status write is under way; the claim follows its answer.
  if (plan.write && !desired.snapshot.proxy.present)
    for (const auto& [family, address] : desired.addresses) plan.prepare.push_back(address);
  const auto left = delay_left(desired);
  if (!left && !desired.request.faults.infrastructure.empty()) {
    plan.remove_proxy = desired.snapshot.proxy.present || desired.snapshot.proxy.coming;
    return plan;
  }
  if (announced(desired)) {
    if (left)
      hold_proxy(plan, desired, *left);
    else
      drive_proxy(plan, desired);
  }
  if (endpoints_unknown(desired) && !plan.again) plan.again = grace_left(desired);
  return plan;
}

/// Remove the proxy first and the finalizer once it is gone, so that nothing leaks if kindlb dies
/// in between (docs/contract.md §1).
Plan release(const ServiceSnapshot& snapshot, Teardown teardown) {
  Plan plan;
  if (snapshot.proxy.present || snapshot.proxy.coming) plan.remove_proxy = true;
  // Without our finalizer nothing is left to do: another controller's may keep the Service for as
  // long as it likes.
  else if (teardown != Teardown::DropFinalizer || has_finalizer(*snapshot.service))
    plan.teardown = teardown;
  return plan;
}

Plan plan_by_claim(const ServiceSnapshot& snapshot, const Policy& policy) {
  switch (claim_of(*snapshot.service, policy)) {
    case Claim::NotOurs:
      return release(snapshot, Teardown::None);
    case Claim::ReleaseDeleted:
      return release(snapshot, Teardown::DropFinalizer);
    case Claim::ReleaseChanged:
      return release(snapshot, Teardown::TakeBack);
    case Claim::Ours:
      break;
  }
  auto desired = begin_desired_state(snapshot, policy);
  return desired.verdict.outcome == Outcome::Refuse ? refuse(desired) : serve(desired);
}

bool may_start(const ServiceSnapshot& snapshot) {
  return snapshot.proxy.present && !snapshot.proxy.live && snapshot.nodes_running;
}

/// Return the Service without what any provider wrote to it.
Service as_new(Service service) {
  service.status = {};
  service.annotations.erase(kObservedAnnotation);
  return service;
}

/// Return the progress as if the EndpointSlices had followed, and a proxy had acknowledged
/// everything and reached an endpoint.
Progress progress_once_done(const DesiredState& desired) {
  const auto service = as_new(desired.service());
  auto snapshot = desired.snapshot;
  snapshot.service = &service;
  snapshot.proxy = {.present = true, .live = true, .acknowledged = desired.revision};
  snapshot.proxy.reach = Reach::Reached;
  snapshot.memory.trouble.reset();
  DesiredState done{.snapshot = snapshot,
                    .policy = desired.policy,
                    .hash = desired.hash,
                    .request = desired.request,
                    .verdict = desired.verdict,
                    .addresses = desired.addresses,
                    .paths = desired.paths,
                    .config = desired.config,
                    .revision = desired.revision,
                    .reported = service};
  done.request.faults.provisioning_delay = {};
  return progress_of(done);
}

}  // namespace

Plan plan_drain(const ServiceSnapshot& snapshot) {
  auto plan = release(snapshot, was_ours(*snapshot.service) ? Teardown::TakeBack : Teardown::None);
  plan.start_proxy = may_start(snapshot);
  return plan;
}

Plan plan_service(const ServiceSnapshot& snapshot, const Policy& policy) {
  auto plan = plan_by_claim(snapshot, policy);
  plan.start_proxy = may_start(snapshot);
  return plan;
}
Prediction predict(const ServiceSnapshot& snapshot, const Policy& policy) {
  Prediction out{.claim = claim_of(*snapshot.service, policy)};
  if (out.claim != Claim::Ours) return out;
  auto desired = begin_desired_state(snapshot, policy);
  out.verdict = desired.verdict;
  out.warnings = annotation_warnings(desired);
  const bool refused = desired.verdict.outcome == Outcome::Refuse;
  auto progress = refusal(desired);
  if (const auto family = refused ? std::nullopt : complete_desired_state(desired))
    progress = {.phase = Phase::Failing, .message = exhaustion_text(snapshot, *family)};
  else if (!refused)
    progress = progress_once_done(desired);
  if (!refused && progress.phase != Phase::Serving) out.failure = progress.message;
  if (progress.phase == Phase::Serving) out.config = desired.config;
  if (desired.verdict.outcome == Outcome::Degrade) progress.degraded = desired.verdict.reasons;
  out.status = written_form(
      status_for(as_new(*snapshot.service), desired.hash, progress, snapshot.now), policy);
  return out;
}

}  // namespace kindlb::core
