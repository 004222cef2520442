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

const Condition* find(const Sight& sight, std::string_view type) {
  const auto found = std::ranges::find(sight.conditions, type, &Condition::type);
  return found == sight.conditions.end() ? nullptr : &*found;
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
bool concerns(const Condition& degraded, const Ask& ask) {
  if (ask.features.empty()) return false;
  if (degraded.reason == "Multiple") return true;
  return std::ranges::any_of(ask.features, [&](const std::string& feature) {
    // The KEP's section on e2e tests names the feature alone.
    return degraded.reason == feature + "NotSupported" || degraded.reason == feature;
  });
}

std::optional<Judgement> judge_refusal(const Ask& ask, const Sight& sight) {
  const auto* const serving = find(sight, core::kServingCondition);
  if (is(serving, ConditionStatus::False) && serving->reason == "Unsupported") {
    if (ask.optional) return Judgement{Step::Skip, quote(*serving)};
    return Judgement{Step::Fail, "every provider must serve this: " + quote(*serving)};
  }
  const auto* const degraded = find(sight, core::kDegradedCondition);
  if (is(degraded, ConditionStatus::True) && concerns(*degraded, ask)) {
    if (ask.stated)
      return Judgement{Step::Fail,
                       "required, so it must be refused rather than degraded: " + quote(*degraded)};
    if (ask.optional) return Judgement{Step::Skip, quote(*degraded)};
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

Judgement judge_conditions(const Sight& sight, const Waited& waited, const Limits& limits) {
  const auto* const serving = find(sight, core::kServingCondition);
  const auto* const provisioning = find(sight, core::kProvisioningCondition);
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
    return within(waited.total, limits.provisioning, "still provisioning: " + describe(sight));
  if (is(serving, ConditionStatus::False)) return judge_error(*serving, waited, limits);
  if (!sight.has_address)
    return settles(waited, limits, "LoadBalancerServing=True without an address");
  return {Step::Go, ""};
}

Judgement judge_silent(const Ask& ask, const Sight& sight, milliseconds elapsed,
                       const Limits& limits) {
  if (sight.has_address) return {Step::Go, ""};
  auto judgement = within(elapsed, limits.provisioning, "no address");
  if (judgement.step == Step::Fail && ask.optional)
    return {Step::Skip,
            judgement.reason + "; without conditions nobody can tell whether that is unsupported"};
  return judgement;
}

bool same_time(const Sight& before, const Sight& now, const char* type) {
  const auto* const old = find(before, type);
  const auto* const fresh = find(now, type);
  if (old == nullptr || fresh == nullptr) return old == fresh;
  return old->last_transition == fresh->last_transition && old->status == fresh->status;
}
}  // namespace

Sight sight_of(const core::Service& service) {
  Sight out;
  for (const auto& condition : service.status.conditions)
    if (condition.type.starts_with(kConditionPrefix)) out.conditions.push_back(condition);
  out.has_address = !service.status.ingress.empty();
  out.has_finalizer =
      std::ranges::find(service.finalizers, core::kFinalizer) != service.finalizers.end();
  return out;
}

Provider judge_provider(const Sight& sight, milliseconds elapsed, milliseconds with_address,
                        const Limits& limits) {
  if (find(sight, core::kServingCondition) != nullptr ||
      find(sight, core::kProvisioningCondition) != nullptr)
    return Provider::Speaking;
  if (sight.has_address && with_address >= kBetweenWrites) return Provider::Silent;
  if (elapsed < limits.conditions) return Provider::Unknown;
  return sight.has_address || sight.has_finalizer ? Provider::Silent : Provider::None;
}

Judgement judge_creation(const Ask& ask, Provider provider, const Sight& sight,
                         const Waited& waited, const Limits& limits) {
  if (const auto refused = judge_refusal(ask, sight)) return *refused;
  const bool speaks =
      provider == Provider::Speaking || judge_provider(sight, {}, {}, limits) == Provider::Speaking;
  if (!speaks) return judge_silent(ask, sight, waited.total, limits);
  return judge_conditions(sight, waited, limits);
}

Judgement judge_change(const Ask& ask, const Change& change, const Sight& sight,
                       const Waited& waited, const Limits& limits) {
  if (same_time(change.before, sight, core::kProvisioningCondition))
    return within(waited.total, limits.conditions,
                  "the provider has not told that it saw the change (the time of "
                  "LoadBalancerProvisioning)");
  const Ask now{.optional = false, .features = ask.features, .stated = ask.stated};
  if (const auto refused = judge_refusal(now, sight)) return *refused;
  auto judgement = judge_conditions(sight, waited, limits);
  if (judgement.step == Step::Go && change.visible &&
      same_time(change.before, sight, core::kServingCondition))
    return settles(waited, limits,
                   "the provider has not told that the change has effect (the time of "
                   "LoadBalancerServing)");
  return judgement;
}

std::string describe(const Sight& sight) {
  std::string out;
  for (const auto& one : sight.conditions)
    out += (out.empty() ? "" : ", ") + one.type.substr(kConditionPrefix.size()) + "=" +
           word_of(one.status) + "/" + one.reason;
  return out.empty() ? "no condition" : out;
}

}  // namespace kindlb::conformance
