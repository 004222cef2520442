// Each condition is computed in two steps: what it should say (wanted_*), from the phase alone, and
// when it last changed (settle), from the previous status. Comparing the result with what the
// Service shows decides whether anything is written (core/report).
#include "kindlb/core/conditions.hpp"

#include "kindlb/core/eligibility.hpp"

#include <algorithm>

namespace kindlb::core {

namespace {

/// A condition without its time.
struct Wanted {
  ConditionStatus status = ConditionStatus::False;
  const char* reason = "";
  std::string message;
};

bool serves(Phase phase) {
  return phase == Phase::Updating || phase == Phase::Serving || phase == Phase::UpdateFailing;
}

bool provisions(Phase phase) {
  return phase == Phase::Working || phase == Phase::Updating || phase == Phase::Failing ||
         phase == Phase::UpdateFailing;
}

std::string serving_text(const std::vector<Ingress>& ingress) {
  std::string out = "Serving";
  for (const auto& entry : ingress) {
    out += (&entry == ingress.data() ? " " : ", ") + entry.ip;
    std::string ports;
    for (const auto& port : entry.ports)
      if (port.error.empty())
        ports += (ports.empty() ? "" : ", ") + port_label(port.protocol, port.port);
    out += " (" + ports + ")";
  }
  return out + ".";
}

Wanted wanted_provisioning(const Progress& progress) {
  if (progress.phase == Phase::Serving)
    return {ConditionStatus::False, "Complete",
            progress.degraded.empty()
                ? "The load balancer is configured as requested."
                : "The load balancer is configured as requested, except for what "
                  "LoadBalancerDegraded reports."};
  if (!provisions(progress.phase))
    return {ConditionStatus::False, "Complete",
            "No retry until something changes: " + progress.message};
  const bool fresh = progress.phase == Phase::Working || progress.phase == Phase::Updating;
  return {ConditionStatus::True, "Provisioning",
          fresh ? progress.message : "Retrying: " + progress.message};
}

Wanted wanted_serving(const Progress& progress) {
  switch (progress.phase) {
    case Phase::Refused:
      return {ConditionStatus::False, "Unsupported", progress.message};
    case Phase::Working:
      return {ConditionStatus::False, "Provisioning", progress.message};
    case Phase::Failing:
    case Phase::GivenUp:
      return {ConditionStatus::False, "Infrastructure", progress.message};
    case Phase::Serving:
      return {ConditionStatus::True, "Serving",
              serving_text(progress.ingress) +
                  (progress.message.empty() ? "" : " " + progress.message)};
    case Phase::Updating:
      return {ConditionStatus::True, "Serving",
              "Serving the previous specification while the new one is being set up."};
    case Phase::UpdateFailing:
      return {ConditionStatus::True, "Serving",
              "Still serving the previous specification: " + progress.message};
  }
  return {};
}

/// Move a transition time: the API stores whole seconds, so a second change within one second must
/// still be visible (docs/contract.md §2).
Timestamp bumped(const Condition& previous, Timestamp now) {
  return std::max(now, previous.last_transition + std::chrono::seconds(1));
}

/// Give a condition its time. The time moves when the status flips or `bump` is set, and stays
/// otherwise, whatever happens to reason and message.
Condition settle(const char* type, const Wanted& wanted, const Condition* previous, bool bump,
                 Timestamp now) {
  Condition out{type, wanted.status, wanted.reason, wanted.message, now};
  if (previous == nullptr) return out;
  if (previous->status != wanted.status || bump)
    out.last_transition = bumped(*previous, now);
  else
    out.last_transition = previous->last_transition;
  return out;
}

/// Keep Serving's previous message while nothing new is requested or takes effect, or every change
/// of the endpoints would be a write. UpdateFailing is the exception: its message must say which
/// specification is being served (docs/contract.md §2).
void keep_words(Condition& serving, const Condition* previous, Phase phase, bool over) {
  if (previous == nullptr || previous->status != ConditionStatus::True) return;
  if (previous->message.empty()) return;  // derived, not reported (core/report)
  if (phase == Phase::Updating || (phase == Phase::Serving && !over))
    serving.message = previous->message;
}

std::optional<Condition> degraded_condition(const Service& service, const Progress& progress,
                                            bool bump, Timestamp now) {
  if (!serves(progress.phase)) return std::nullopt;
  const auto* previous = find_condition(service.status.conditions, kDegradedCondition);
  // Until the work is done the previous specification is served, with its limitations.
  if (progress.phase != Phase::Serving)
    return previous == nullptr ? std::nullopt : std::optional(*previous);
  if (progress.degraded.empty()) return std::nullopt;
  const Wanted wanted{ConditionStatus::True, "", summary_message(progress.degraded)};
  auto out = settle(kDegradedCondition, wanted, previous, bump, now);
  out.reason = summary_reason(progress.degraded);
  return out;
}

/// Return status.loadBalancer.ingress for the phase. It changes only when new values are true:
/// while work is under way or failing, the reported addresses stay, because they come back.
std::vector<Ingress> ingress_for(const Service& service, const Progress& progress,
                                 const std::optional<Report>& report) {
  if (progress.phase == Phase::Refused) return {};
  if (progress.phase == Phase::Serving) return progress.ingress;
  if (report) return report->meant.ingress;
  return was_ours(service) ? service.status.ingress : std::vector<Ingress>{};
}

/// Return whether new semantics take effect: when the work for them ends (Provisioning was True),
/// or at once when there was no work to do and the reported addresses or ports differ.
bool takes_effect(const Service& service, const Progress& progress,
                  const std::optional<Report>& report) {
  if (progress.phase != Phase::Serving) return false;
  if (is_true(service.status.conditions, kProvisioningCondition) && !progress.unchanged)
    return true;
  const auto& shown = service.status.ingress;
  if (!report) return !same_ingress(shown, progress.ingress);
  // The answer to a write may have been lost: then it is shown, but not known as reported.
  return !same_ingress(report->meant.ingress, progress.ingress) && shown != progress.ingress;
}

/// Return the Event for an update during which Serving stays True: new semantics took effect (its
/// time moved), the update fails (its message changed), or the update begins.
std::optional<EventNote> update_event(const Condition& before, const Condition& serving,
                                      const Condition& provisioning, bool began) {
  if (serving.last_transition != before.last_transition)
    return EventNote{EventType::Normal, "Updated", serving.message};
  if (provisioning.status != ConditionStatus::True) return std::nullopt;
  if (serving.message != before.message)
    return EventNote{EventType::Warning, "Infrastructure", serving.message};
  if (began) return EventNote{EventType::Normal, "Provisioning", provisioning.message};
  return std::nullopt;
}

std::optional<EventNote> serving_event(const std::vector<Condition>& before,
                                       const std::vector<Condition>& after) {
  const auto* old = find_condition(before, kServingCondition);
  const auto& now = *find_condition(after, kServingCondition);
  const auto& provisioning = *find_condition(after, kProvisioningCondition);
  const bool began =
      is_true(after, kProvisioningCondition) && !is_true(before, kProvisioningCondition);
  const bool turned = old == nullptr || old->status != now.status || old->reason != now.reason;
  if (now.status == ConditionStatus::True)
    return turned ? EventNote{EventType::Normal, "Serving", now.message}
                  : update_event(*old, now, provisioning, began);
  if (now.reason == "Provisioning")
    return turned || began
               ? std::optional(EventNote{EventType::Normal, "Provisioning", now.message})
               : std::nullopt;
  if (turned || old->message != now.message)
    return EventNote{EventType::Warning, now.reason, now.message};
  return std::nullopt;
}

}  // namespace

StatusApply status_for(const Service& service, const std::string& hash, const Progress& progress,
                       Timestamp now, const std::optional<Report>& report) {
  const auto& before = service.status.conditions;
  const auto* old_serving = find_condition(before, kServingCondition);
  const auto* old_provisioning = find_condition(before, kProvisioningCondition);
  const bool changed =
      hash != last_observed(service) && (!report || hash != mark_hash(report->meant.observed));
  const bool worked = is_true(before, kProvisioningCondition);
  const bool finished = takes_effect(service, progress, report);

  StatusApply next{.key = service.key,
                   .uid = service.uid,
                   .finalizer = true,
                   .observed = mark_of(service, hash)};
  next.ingress = ingress_for(service, progress, report);
  auto serving = settle(kServingCondition, wanted_serving(progress), old_serving, finished, now);
  keep_words(serving, old_serving, progress.phase, finished || worked || changed);
  next.conditions.push_back(std::move(serving));
  next.conditions.push_back(settle(kProvisioningCondition, wanted_provisioning(progress),
                                   old_provisioning, changed, now));
  if (auto degraded = degraded_condition(service, progress, false, now))
    next.conditions.push_back(std::move(*degraded));
  return next;
}

std::optional<StatusApply> next_status(const Service& service, const std::string& hash,
                                       const Progress& progress, Timestamp now) {
  auto next = status_for(service, hash, progress, now);
  if (!must_write(next, service, std::nullopt, {})) return std::nullopt;
  return next;
}

std::vector<EventNote> events_for(const Service& before, const StatusApply& write) {
  std::vector<EventNote> out;
  if (auto note = serving_event(before.status.conditions, write.conditions))
    out.push_back(std::move(*note));
  const auto* degraded = find_condition(write.conditions, kDegradedCondition);
  const auto* old_degraded = find_condition(before.status.conditions, kDegradedCondition);
  if (degraded != nullptr &&
      (old_degraded == nullptr || old_degraded->message != degraded->message))
    out.push_back({EventType::Warning, "Degraded", degraded->message});
  return out;
}

const Condition* find_condition(const std::vector<Condition>& conditions, const std::string& type) {
  const auto found = std::find_if(conditions.begin(), conditions.end(),
                                  [&](const Condition& c) { return c.type == type; });
  return found == conditions.end() ? nullptr : &*found;
}

bool is_true(const std::vector<Condition>& conditions, const std::string& type) {
  const auto* condition = find_condition(conditions, type);
  return condition != nullptr && condition->status == ConditionStatus::True;
}

bool is_served(const std::vector<Condition>& conditions) {
  return is_true(conditions, kServingCondition) && !is_true(conditions, kProvisioningCondition);
}

}  // namespace kindlb::core
