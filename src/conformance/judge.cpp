#include "kindlb/conformance/judge.hpp"

#include <algorithm>
#include <string_view>

namespace kindlb::conformance {

namespace {
using core::Condition;
using core::ConditionStatus;

/// Two writes instead of one are no reason to call a provider silent.
constexpr milliseconds kBetweenWrites{3'000};
constexpr std::string_view kConditionPrefix = "LoadBalancer";

const Condition* find(const ObservedStatus& observed, std::string_view type) {
  const auto found = std::ranges::find(observed.conditions, type, &Condition::type);
  return found == observed.conditions.end() ? nullptr : &*found;
}

bool is(const Condition* condition, ConditionStatus status) {
  return condition != nullptr && condition->status == status;
}

std::string whole_seconds(milliseconds limit) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(limit).count()) + " s";
}

const char* word_of(ConditionStatus status) {
  if (status == ConditionStatus::Unknown) return "Unknown";
  return status == ConditionStatus::True ? "True" : "False";
}

/// "LoadBalancerServing=False/Unsupported: only TCP"
std::string quote(const Condition& condition) {
  auto out = condition.type + "=" + word_of(condition.status) + "/" + condition.reason;
  return condition.message.empty() ? out : out + ": " + condition.message;
}

/// No Service of ours asks for more than one feature beside those its test is about, so Multiple
/// always includes one of them.
bool concerns(const Condition& degraded, const Requirements& required) {
  if (required.features.empty()) return false;
  if (degraded.reason == "Multiple") return true;
  return std::ranges::any_of(required.features, [&](const std::string& feature) {
    // The KEP's section on e2e tests names the feature alone.
    return degraded.reason == feature + "NotSupported" || degraded.reason == feature;
  });
}

std::optional<Judgement> judge_refusal(const Requirements& required,
                                       const ObservedStatus& observed) {
  const auto* const serving = find(observed, core::kServingCondition);
  if (is(serving, ConditionStatus::False) && serving->reason == "Unsupported") {
    if (required.optional) return Judgement{Step::Skip, quote(*serving)};
    return Judgement{Step::Fail, "every provider must serve this: " + quote(*serving)};
  }
  const auto* const degraded = find(observed, core::kDegradedCondition);
  if (is(degraded, ConditionStatus::True) && concerns(*degraded, required)) {
    if (required.declared)
      return Judgement{Step::Fail,
                       "required, so it must be refused rather than degraded: " + quote(*degraded)};
    if (required.optional) return Judgement{Step::Skip, quote(*degraded)};
    return Judgement{Step::Fail, "served without it only after a change: " + quote(*degraded)};
  }
  return std::nullopt;
}

/// Fail once the limit has passed, else go on waiting, both for the same reason.
Judgement within(milliseconds elapsed, milliseconds limit, const std::string& reason) {
  if (elapsed < limit) return {Step::Wait, reason};
  return {Step::Fail, reason + " after " + whole_seconds(limit)};
}

/// For what may be half of a change, the other half of which is about to be written.
Judgement settles(const Waited& waited, const Limits& limits, const std::string& reason) {
  if (waited.total >= limits.provisioning) return within(waited.total, limits.provisioning, reason);
  return within(waited.unchanged, limits.conditions, reason);
}

/// Both conditions are False: "in an error state; not handling connections and not expected to".
Judgement judge_error(const Condition& serving, const Waited& waited, const Limits& limits) {
  const auto reason = "not served, and nobody is working on it: " + quote(serving);
  if (serving.reason == "Infrastructure") return {Step::Fail, reason};  // that is final
  return settles(waited, limits, reason);
}

Judgement judge_conditions(const ObservedStatus& observed, const Waited& waited,
                           const Limits& limits) {
  const auto* const serving = find(observed, core::kServingCondition);
  const auto* const provisioning = find(observed, core::kProvisioningCondition);
  if (serving == nullptr && provisioning == nullptr)
    return within(waited.total, limits.conditions,
                  "neither LoadBalancerServing nor LoadBalancerProvisioning is there");
  for (const auto* one : {serving, provisioning})
    if (is(one, ConditionStatus::Unknown))
      return settles(waited, limits, one->type + " is Unknown, which means nothing");
  if (serving == nullptr || provisioning == nullptr)
    return settles(waited, limits,
                   serving == nullptr ? "LoadBalancerServing is missing"
                                      : "LoadBalancerProvisioning is missing");
  if (is(provisioning, ConditionStatus::True))
    return within(waited.total, limits.provisioning, "still provisioning: " + describe(observed));
  if (is(serving, ConditionStatus::False)) return judge_error(*serving, waited, limits);
  if (!observed.has_address)
    return settles(waited, limits, "LoadBalancerServing=True without an address");
  return {Step::Proceed, ""};
}

Judgement judge_without_conditions(const Requirements& required, const ObservedStatus& observed,
                                   milliseconds elapsed, const Limits& limits) {
  if (observed.has_address) return {Step::Proceed, ""};
  auto judgement = within(elapsed, limits.provisioning, "no address");
  if (judgement.step == Step::Fail && required.optional)
    return {Step::Skip,
            judgement.reason + "; without conditions nobody can tell whether that is unsupported"};
  return judgement;
}

bool same_time(const ObservedStatus& before, const ObservedStatus& now, const char* type) {
  const auto* const old = find(before, type);
  const auto* const fresh = find(now, type);
  if (old == nullptr || fresh == nullptr) return old == fresh;
  return old->last_transition == fresh->last_transition && old->status == fresh->status;
}
}  // namespace

ObservedStatus observed_status(const core::Service& service) {
  ObservedStatus out;
  for (const auto& condition : service.status.conditions)
    if (condition.type.starts_with(kConditionPrefix)) out.conditions.push_back(condition);
  out.has_address = !service.status.ingress.empty();
  out.has_finalizer =
      std::ranges::find(service.finalizers, core::kFinalizer) != service.finalizers.end();
  return out;
}

Provider judge_provider(const ObservedStatus& observed, milliseconds elapsed,
                        milliseconds with_address, const Limits& limits) {
  if (find(observed, core::kServingCondition) != nullptr ||
      find(observed, core::kProvisioningCondition) != nullptr)
    return Provider::WithConditions;
  if (observed.has_address && with_address >= kBetweenWrites) return Provider::WithoutConditions;
  if (elapsed < limits.conditions) return Provider::Unknown;
  return observed.has_address || observed.has_finalizer ? Provider::WithoutConditions
                                                        : Provider::None;
}

Judgement judge_creation(const Requirements& required, Provider provider,
                         const ObservedStatus& observed, const Waited& waited,
                         const Limits& limits) {
  if (const auto refused = judge_refusal(required, observed)) return *refused;
  const bool writes_conditions =
      provider == Provider::WithConditions ||
      judge_provider(observed, {}, {}, limits) == Provider::WithConditions;
  if (!writes_conditions) return judge_without_conditions(required, observed, waited.total, limits);
  return judge_conditions(observed, waited, limits);
}

Judgement judge_change(const Requirements& required, const Change& change,
                       const ObservedStatus& observed, const Waited& waited, const Limits& limits) {
  if (same_time(change.before, observed, core::kProvisioningCondition))
    return within(waited.total, limits.conditions,
                  "the provider has not told that it saw the change (the time of "
                  "LoadBalancerProvisioning)");
  const Requirements now{
      .optional = false, .features = required.features, .declared = required.declared};
  if (const auto refused = judge_refusal(now, observed)) return *refused;
  auto judgement = judge_conditions(observed, waited, limits);
  if (judgement.step == Step::Proceed && change.visible &&
      same_time(change.before, observed, core::kServingCondition))
    return settles(waited, limits,
                   "the provider has not told that the change has effect (the time of "
                   "LoadBalancerServing)");
  return judgement;
}

std::string describe(const ObservedStatus& observed) {
  std::string out;
  for (const auto& one : observed.conditions)
    out += (out.empty() ? "" : ", ") + one.type.substr(kConditionPrefix.size()) + "=" +
           word_of(one.status) + "/" + one.reason;
  return out.empty() ? "no condition" : out;
}

}  // namespace kindlb::conformance
