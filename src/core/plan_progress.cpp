#include "desired_state.hpp"

#include <algorithm>

namespace kindlb::core {

namespace {

std::string path_problem(const Draft& draft) {
  for (const auto& [family, path] : draft.paths) {
    const bool any = std::any_of(path.targets.begin(), path.targets.end(),
                                 [](const auto& item) { return !item.second.empty(); });
    if (!path.problem.empty() && !any) return path.problem;
  }
  return {};
}

/// A try of the direct way that was refused takes nothing away from what is served.
bool is_rejected(const Draft& draft) {
  return draft.scouts.empty() && !draft.world.proxy.rejection.empty() &&
         draft.world.proxy.rejected == draft.revision;
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

/// The interruption that an annotation asked for is under way.
bool is_interrupted(const Draft& draft) {
  const auto* before = find_condition(draft.conditions(), kServingCondition);
  return draft.request.faults.interrupt_on_update && is_observed(draft) && before != nullptr &&
         before->reason == "Provisioning" && !draft.service().status.ingress.empty();
}

std::string healing_text(const ProxyView& proxy) {
  return "The proxy is being healed: " +
         (proxy.trouble.empty() ? "its Envoy was started again." : proxy.trouble);
}

Standing updating(const Draft& draft) {
  if (draft.request.faults.interrupt_on_update)
    return {.stage = Stage::Working,
            .message =
                "The load balancer is interrupted for the update, as the annotation "
                "kindlb.dev/fault-interrupt-on-update asks."};
  return {.stage = Stage::Updating, .message = "The new specification is being set up."};
}

/// What went wrong, if something did.
std::optional<Standing> failing(const Draft& draft) {
  const auto& proxy = draft.world.proxy;
  const bool served = reported_serving(draft.service());
  const bool former = serves_former(draft);
  const auto stage = former ? Stage::FailingOld : Stage::Failing;
  if (is_rejected(draft))
    return Standing{.stage = stage,
                    .message = "The proxy refused the configuration: " + proxy.rejection};
  if (draft.world.trouble) return Standing{.stage = stage, .message = draft.world.trouble->message};
  if (served && !proxy.present)
    return Standing{.stage = Stage::Failing,
                    .message =
                        "The proxy container is gone; another one is being started for the "
                        "same address."};
  if (proxy.present && !former && (served || (!proxy.live && !proxy.trouble.empty())))
    return Standing{.stage = Stage::Failing, .message = healing_text(proxy)};
  if (proxy.present && proxy.live && proxy.acknowledged == draft.revision &&
      proxy.reach == Reach::Unreachable)
    return Standing{.stage = Stage::Failing,
                    .message = "No ready endpoint could be reached: " + proxy.reach_detail};
  return std::nullopt;
}

Standing unfulfilled(const Draft& draft) {
  if (auto failed = failing(draft)) return *failed;
  if (serves_former(draft) || is_interrupted(draft)) return updating(draft);
  // A failure stays told until it is over: going back to "Provisioning" between two tries would
  // only make the status flicker. Words somebody asked for are over once nobody asks any more.
  const auto* before = find_condition(draft.conditions(), kServingCondition);
  if (before != nullptr && before->reason == "Infrastructure" && is_observed(draft))
    return {.stage = Stage::Failing, .message = before->message};
  return {.stage = Stage::Working, .message = "A proxy is being set up."};
}

Standing delayed(const Draft& draft) {
  Standing out = serves_former(draft) || is_interrupted(draft)
                     ? updating(draft)
                     : Standing{.stage = Stage::Working, .message = "A proxy will be set up."};
  out.message += " The annotation kindlb.dev/fault-provisioning-delay makes it take its time.";
  return out;
}

Standing serving(const Draft& draft) {
  Standing out{.stage = Stage::Serving, .ingress = wanted_ingress(draft)};
  out.unchanged = draft.world.told == Told{draft.hash, draft.revision.shape};
  auto notes = draft.verdict.notes;
  for (const auto& [family, path] : draft.paths)
    if (!path.detour.empty()) notes.push_back("Through node ports: " + path.detour + ".");
  for (const auto& note : notes) out.message += (out.message.empty() ? "" : " ") + note;
  if (draft.world.proxy.reach == Reach::Refused)
    out.message +=
        (out.message.empty() ? "Note: " : " Note: ") + draft.world.proxy.reach_detail + ".";
  return out;
}

}  // namespace

bool reported_serving(const Service& service) {
  return was_ours(service) && is_true(service.status.conditions, kServingCondition);
}

bool serves_former(const Draft& draft) {
  const auto& proxy = draft.world.proxy;
  return reported_serving(draft.service()) && proxy.present && proxy.live &&
         !proxy.acknowledged.empty();
}

bool is_observed(const Draft& draft) {
  const auto observed = draft.service().annotations.find(kObservedAnnotation);
  return observed != draft.service().annotations.end() && observed->second == draft.hash;
}

bool endpoints_unknown(const ServiceWorld& world) {
  return world.service->spec.has_selector && world.slices.empty() && world.age < kSliceGrace;
}

std::optional<std::chrono::milliseconds> delay_left(const Draft& draft) {
  const auto delay = draft.request.faults.provisioning_delay;
  if (delay.count() == 0) return std::nullopt;
  // The annotation is about work for new wishes, not about a proxy that was lost.
  if (reported_serving(draft.service()) && !serves_former(draft)) return std::nullopt;
  if (!is_observed(draft)) return delay;
  const auto* provisioning = find_condition(draft.conditions(), kProvisioningCondition);
  const auto* serving = find_condition(draft.conditions(), kServingCondition);
  // Nor is it about work that began with a failure.
  if (provisioning == nullptr || provisioning->status != ConditionStatus::True ||
      (serving != nullptr && serving->reason == "Infrastructure"))
    return std::nullopt;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      provisioning->last_transition + delay - draft.world.now);
  return left.count() > 0 ? std::optional(left) : std::nullopt;
}

bool is_overtaken(const Draft& draft) {
  const auto& sent = draft.world.proxy.sent;
  return !sent.empty() && sent != draft.revision;
}

/// What changes now are endpoints, which come and go without a word; new wishes that change nothing
/// for the proxy need no new proof either.
bool is_settled(const Draft& draft) {
  return reported_serving(draft.service()) &&
         !is_true(draft.conditions(), kProvisioningCondition) &&
         (is_observed(draft) || draft.world.proxy.acknowledged == draft.revision);
}

Standing standing_of(const Draft& draft) {
  if (delay_left(draft)) return delayed(draft);
  if (const auto& words = draft.request.faults.infrastructure; !words.empty())
    return {.stage = Stage::GivenUp, .message = words};
  if (const auto problem = path_problem(draft); !problem.empty())
    return {.stage = Stage::GivenUp,
            .message = "There is no way to the endpoints: " + problem + "."};
  return fulfilled(draft) ? serving(draft) : unfulfilled(draft);
}

}  // namespace kindlb::core
