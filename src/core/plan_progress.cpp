// How far a Service is: the desired state compared with the snapshot, for the conditions of
// docs/contract.md §2.
#include "desired_state.hpp"

#include <algorithm>

namespace kindlb::core {

namespace {

/// Return why no target can be reached, or nothing. Problems with single endpoints do not count as
/// long as others are served.
std::string path_problem(const DesiredState& desired) {
  for (const auto& [family, path] : desired.paths) {
    const bool any = std::any_of(path.targets.begin(), path.targets.end(),
                                 [](const auto& item) { return !item.second.empty(); });
    if (!path.problem.empty() && !any) return path.problem;
  }
  return {};
}

/// Return whether the proxy rejected the desired revision. The rejection of a direct retry does not
/// count: what is served stays as it was.
bool is_rejected(const DesiredState& desired) {
  return desired.direct_probes.empty() && !desired.snapshot.proxy.rejection.empty() &&
         desired.snapshot.proxy.rejected == desired.revision;
}

/// Return whether the proxy has rejected the desired state before and may do so again. Until it is
/// confirmed, the rejection is reported, or the status would flap between two attempts.
bool is_retried(const DesiredState& desired) {
  const auto& proxy = desired.snapshot.proxy;
  return !proxy.retried.empty() && proxy.retried == desired.revision;
}

/// Return whether the proxy serves the desired state, which is what Serving=True promises: Envoy
/// has acknowledged this very revision and a probe has reached an endpoint. A Service that was
/// settled before needs no new proof when only its endpoints change.
bool fulfilled(const DesiredState& desired) {
  const auto& proxy = desired.snapshot.proxy;
  if (!proxy.present || !proxy.live || proxy.acknowledged.shape != desired.revision.shape)
    return false;
  if (is_rejected(desired)) return false;
  if (is_settled(desired)) return true;
  if (endpoints_unknown(desired) || proxy.acknowledged != desired.revision) return false;
  if (is_overtaken(desired)) return false;
  return wanted_probes(desired).empty() || proxy.reach == Reach::Reached ||
         proxy.reach == Reach::Refused;
}

/// Return whether an interruption requested by kindlb.dev/fault-interrupt-on-update is under way.
bool is_interrupted(const DesiredState& desired) {
  const auto* before = find_condition(desired.conditions(), kServingCondition);
  return desired.request.faults.interrupt_on_update && is_observed(desired) && before != nullptr &&
         before->reason == "Provisioning" && !desired.service().status.ingress.empty();
}

std::string healing_text(const ProxyView& proxy) {
  return "The proxy is recovering: " +
         (proxy.trouble.empty() ? "its Envoy was restarted." : proxy.trouble);
}

Progress updating(const DesiredState& desired) {
  if (desired.request.faults.interrupt_on_update)
    return {.phase = Phase::Working,
            .message =
                "The load balancer is interrupted for the update, as requested by the annotation "
                "kindlb.dev/fault-interrupt-on-update."};
  return {.phase = Phase::Updating, .message = "The new specification is being set up."};
}

/// Say which port the EndpointSlices lack, or have with an old number.
std::string lag_text(const SliceState& slices) {
  if (slices.stale.empty()) return "none has port " + slices.port;
  return "port " + slices.port + " still has number " + slices.stale + " in them";
}

/// Say of a Service that is served as far as its slices go that they lack something.
std::string missing_text(const SliceState& slices) {
  const std::string what = slices.port.empty()
                               ? "the Service had no EndpointSlice."
                               : "no EndpointSlice had port " + slices.port +
                                     "; check targetPort against the ports of the pods.";
  return "Note: when this took effect, " + what;
}

/// Name what to look at when probes that any answer satisfies have got none.
std::string silence_advice(const DesiredState& desired) {
  const auto probes = wanted_probes(desired);
  if (std::none_of(probes.begin(), probes.end(), [](const auto& one) { return one.any_answer; }))
    return "";
  return ". UDP ports are tried with a TCP connection, which may be refused but not dropped; does "
         "a NetworkPolicy drop it?";
}

/// Return the failure, if there is one. Rejection and infrastructure failures leave the previous
/// configuration in service; a lost or dead proxy does not.
std::optional<Progress> failing(const DesiredState& desired) {
  const auto& proxy = desired.snapshot.proxy;
  const bool served = reported_serving(desired.service());
  const bool former = serves_previous(desired);
  const auto phase = former ? Phase::UpdateFailing : Phase::Failing;
  if (is_rejected(desired) || is_retried(desired))
    return Progress{.phase = phase,
                    .message = "The proxy rejected the configuration: " + proxy.rejection};
  if (desired.snapshot.memory.trouble)
    return Progress{.phase = phase, .message = desired.snapshot.memory.trouble->message};
  if (!proxy.present && proxy.coming && !proxy.trouble.empty())
    return Progress{.phase = Phase::Failing, .message = healing_text(proxy)};
  if (served && !proxy.present)
    return Progress{.phase = Phase::Failing,
                    .message =
                        "The proxy container is gone; a replacement is being started with the "
                        "same address."};
  if (proxy.present && !former && (served || (!proxy.live && !proxy.trouble.empty())))
    return Progress{.phase = Phase::Failing, .message = healing_text(proxy)};
  if (proxy.present && proxy.live && proxy.acknowledged == desired.revision &&
      proxy.reach == Reach::Unreachable)
    return Progress{.phase = Phase::Failing,
                    .message = "No ready endpoint could be reached: " + proxy.reach_detail +
                               silence_advice(desired)};
  if (endpoints_unknown(desired) && !grace_left(desired))
    return Progress{
        .phase = phase,
        .message = "The EndpointSlices have not followed the Service: " + lag_text(desired.slices) +
                   ". Does the EndpointSlice controller (kube-controller-manager) "
                   "run?"};
  return std::nullopt;
}

Progress unfulfilled(const DesiredState& desired) {
  if (auto failed = failing(desired)) return *failed;
  if (serves_previous(desired) || is_interrupted(desired)) return updating(desired);
  // Keep reporting a failure until it is over: returning to "Provisioning" between two attempts
  // would make the status flap. A new spec starts afresh, which also ends an injected failure.
  const auto* before = find_condition(desired.conditions(), kServingCondition);
  if (before != nullptr && before->reason == "Infrastructure" && is_observed(desired))
    return {.phase = Phase::Failing, .message = before->message};
  return {.phase = Phase::Working, .message = "A proxy is being set up."};
}

Progress delayed(const DesiredState& desired) {
  Progress out = serves_previous(desired) || is_interrupted(desired)
                     ? updating(desired)
                     : Progress{.phase = Phase::Working, .message = "A proxy will be set up."};
  out.message += " Delayed by the annotation kindlb.dev/fault-provisioning-delay.";
  return out;
}

/// Return whether a port that should accept connections refuses them.
bool is_refused(const DesiredState& desired) {
  const auto probes = wanted_probes(desired);
  return desired.snapshot.proxy.reach == Reach::Refused &&
         !std::all_of(probes.begin(), probes.end(), [](const auto& one) { return one.any_answer; });
}

Progress serving(const DesiredState& desired) {
  Progress out{.phase = Phase::Serving, .ingress = wanted_ingress(desired)};
  out.unchanged =
      desired.snapshot.memory.last_reported == LastReported{desired.hash, desired.revision.shape};
  auto notes = desired.verdict.notes;
  for (const auto& [family, path] : desired.paths)
    if (!path.fallback_reason.empty())
      notes.push_back("Using node ports: " + path.fallback_reason + ".");
  if (is_refused(desired)) notes.push_back("Note: " + desired.snapshot.proxy.reach_detail + ".");
  if (desired.slices.lag == SliceLag::Possible) notes.push_back(missing_text(desired.slices));
  for (const auto& note : notes) out.message += (out.message.empty() ? "" : " ") + note;
  return out;
}

}  // namespace

bool reported_serving(const Service& service) {
  return was_ours(service) && is_true(service.status.conditions, kServingCondition);
}

bool serves_previous(const DesiredState& desired) {
  const auto& proxy = desired.snapshot.proxy;
  return reported_serving(desired.service()) && proxy.present && proxy.live &&
         !proxy.acknowledged.empty();
}

bool is_observed(const DesiredState& desired) {
  return last_observed(desired.service()) == desired.hash;
}

/// The time counts from Provisioning's transition, too, which the API server keeps: a restart of
/// kindlb does not begin it anew.
std::optional<std::chrono::milliseconds> grace_left(const DesiredState& desired) {
  auto passed = desired.snapshot.age;
  const auto* provisioning = find_condition(desired.conditions(), kProvisioningCondition);
  if (is_observed(desired) && provisioning != nullptr &&
      provisioning->status == ConditionStatus::True)
    passed = std::max<std::chrono::milliseconds>(
        passed, desired.snapshot.now - provisioning->last_transition);
  return passed < kSliceGrace ? std::optional(kSliceGrace - passed) : std::nullopt;
}

bool endpoints_unknown(const DesiredState& desired) {
  if (desired.slices.lag == SliceLag::None) return false;
  return desired.slices.lag == SliceLag::Certain || grace_left(desired);
}

/// The delay counts from Provisioning's transition time, which the API server keeps: a restart of
/// kindlb does not begin it anew. It is also over when this process has known the spec for as long,
/// since the clock may have been set back. The time may be a second ahead (see conditions.hpp).
std::optional<std::chrono::milliseconds> delay_left(const DesiredState& desired) {
  const auto delay = desired.request.faults.provisioning_delay;
  if (delay.count() == 0) return std::nullopt;
  // The annotation delays work for a new spec, not the replacement of a lost proxy.
  if (reported_serving(desired.service()) && !serves_previous(desired)) return std::nullopt;
  if (!is_observed(desired)) return delay;
  const auto* provisioning = find_condition(desired.conditions(), kProvisioningCondition);
  const auto* serving = find_condition(desired.conditions(), kServingCondition);
  // Nor does it delay the retry of failed work.
  if (provisioning == nullptr || provisioning->status != ConditionStatus::True ||
      (serving != nullptr && serving->reason == "Infrastructure"))
    return std::nullopt;
  const auto left = std::min<std::chrono::milliseconds>(
      provisioning->last_transition + delay - desired.snapshot.now,
      delay + std::chrono::seconds(1) - desired.snapshot.age);
  return left.count() > 0 ? std::optional(left) : std::nullopt;
}

bool is_overtaken(const DesiredState& desired) {
  const auto& sent = desired.snapshot.proxy.sent;
  return !sent.empty() && sent != desired.revision;
}

/// A new spec that changes nothing for the proxy (same revision) is settled at once, unless it will
/// change something when the EndpointSlices follow.
bool is_settled(const DesiredState& desired) {
  return reported_serving(desired.service()) &&
         !is_true(desired.conditions(), kProvisioningCondition) &&
         (is_observed(desired) || (desired.snapshot.proxy.acknowledged == desired.revision &&
                                   desired.slices.lag != SliceLag::Certain));
}

Progress progress_of(const DesiredState& desired) {
  if (delay_left(desired)) return delayed(desired);
  if (const auto& words = desired.request.faults.infrastructure; !words.empty())
    return {.phase = Phase::GivenUp, .message = words};
  if (const auto problem = path_problem(desired); !problem.empty())
    return {.phase = Phase::GivenUp,
            .message = "There is no path to the endpoints: " + problem + "."};
  return fulfilled(desired) ? serving(desired) : unfulfilled(desired);
}

}  // namespace kindlb::core
