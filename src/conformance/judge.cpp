#include "kindlb/conformance/judge.hpp"

#include "condition_lookup.hpp"
#include "kindlb/core/eligibility.hpp"

#include <algorithm>
#include <string_view>

namespace kindlb::conformance {

namespace {
using core::Condition;
using core::ConditionStatus;

/// How long conditions may follow an address. Some providers need two writes; that alone does not
/// make them providers without conditions.
constexpr milliseconds kBetweenWrites{3'000};
constexpr std::string_view kConditionPrefix = "LoadBalancer";

std::string whole_seconds(milliseconds limit) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(limit).count()) + " s";
}

/// Whether a feature under test is what is degraded. "Multiple" does not name the features, but no
/// Service here asks for more than one feature besides those under test, so one of these must be
/// among them.
bool concerns(const Condition& degraded, const Requirements& required) {
  if (required.features.empty()) return false;
  if (degraded.reason == "Multiple") return true;
  return std::ranges::any_of(required.features, [&](const std::string& feature) {
    // The KEP's "Degraded" conditions append NotSupported; its section on e2e tests does not.
    return degraded.reason == feature + "NotSupported" || degraded.reason == feature;
  });
}

/// Judge what a provider refuses or degrades. This comes before every other rule: a refusal is
/// final whatever the other conditions say ("e2e tests": a test checks for Unsupported first).
std::optional<Judgement> judge_refusal(const Requirements& required,
                                       const ObservedStatus& observed) {
  const auto* const serving = find_condition(observed, core::kServingCondition);
  if (is(serving, ConditionStatus::False) && serving->reason == "Unsupported") {
    if (required.optional) return Judgement{Step::Skip, quote(*serving)};
    return Judgement{Step::Fail, "every provider must support this: " + quote(*serving)};
  }
  const auto* const degraded = find_condition(observed, core::kDegradedCondition);
  if (is(degraded, ConditionStatus::True) && concerns(*degraded, required)) {
    // "e2e tests" alone would skip here, but the rules for providers demand a refusal for a
    // required feature, so a provider that knew of the requirement fails.
    if (required.declared)
      return Judgement{
          Step::Fail,
          "the feature is required, so the Service must be refused rather than degraded: " +
              quote(*degraded)};
    if (required.optional) return Judgement{Step::Skip, quote(*degraded)};
    return Judgement{Step::Fail,
                     "degraded after a change, although it was served before: " + quote(*degraded)};
  }
  return std::nullopt;
}

/// Wait until the limit, then fail, both for the same reason.
Judgement within(milliseconds elapsed, milliseconds limit, const std::string& reason) {
  if (elapsed < limit) return {Step::Wait, reason};
  return {Step::Fail, reason + " after " + whole_seconds(limit)};
}

/// Tolerate a state that is only valid between two writes of the provider: fail once it has stayed
/// unchanged for Limits::conditions. A provider that keeps changing it is bounded by the limit for
/// provisioning as a whole.
Judgement tolerate_partial_write(const Waited& waited, const Limits& limits,
                                 const std::string& reason) {
  if (waited.total >= limits.provisioning) return within(waited.total, limits.provisioning, reason);
  return within(waited.unchanged, limits.conditions, reason);
}

/// Both conditions are False: "in an error state; not handling connections and not expected to".
/// With the reason Infrastructure the provider itself has given up, so waiting is pointless; any
/// other reason contradicts itself, and may be half of an update.
Judgement judge_error(const Condition& serving, const Waited& waited, const Limits& limits) {
  const auto reason = "not served and not being provisioned: " + quote(serving);
  if (serving.reason == "Infrastructure") return {Step::Fail, reason};
  return tolerate_partial_write(waited, limits, reason);
}

/// The KEP's "Service Lifecycle", from the earliest state to the last. The limit of each state is
/// what the KEP promises for leaving it:
///   no condition at all           conditions must appear within Limits::conditions (30 s)
///   Unknown, or one of the two    not a state of the KEP; waits as if it were half of an update
///   Provisioning=True             the provider is at work: Limits::provisioning
///   both False                    an error state, see judge_error()
///   Serving=True, no address      the KEP wants both in one write; waits in the same way
/// Waiting is not condoning: judge_versions() holds every such version against the provider. But
/// the test goes on, so that its result shows whether the feature works.
Judgement judge_conditions(const ObservedStatus& observed, const Waited& waited,
                           const Limits& limits) {
  const auto* const serving = find_condition(observed, core::kServingCondition);
  const auto* const provisioning = find_condition(observed, core::kProvisioningCondition);
  if (serving == nullptr && provisioning == nullptr)
    return within(waited.total, limits.conditions,
                  "neither LoadBalancerServing nor LoadBalancerProvisioning exists");
  for (const auto* one : {serving, provisioning})
    if (is(one, ConditionStatus::Unknown))
      return tolerate_partial_write(waited, limits,
                                    one->type + " is Unknown, which the KEP does not define");
  if (serving == nullptr || provisioning == nullptr)
    return tolerate_partial_write(waited, limits,
                                  serving == nullptr ? "LoadBalancerServing is missing"
                                                     : "LoadBalancerProvisioning is missing");
  if (is(provisioning, ConditionStatus::True))
    return within(waited.total, limits.provisioning, "still provisioning: " + describe(observed));
  if (is(serving, ConditionStatus::False)) return judge_error(*serving, waited, limits);
  if (!observed.has_address)
    return tolerate_partial_write(waited, limits, "LoadBalancerServing=True without an address");
  return {Step::Proceed, ""};
}

/// Without conditions, an address is the only sign of success, and nothing distinguishes a feature
/// that is unsupported from one that is broken: optional tests are skipped.
Judgement judge_without_conditions(const Requirements& required, const ObservedStatus& observed,
                                   milliseconds elapsed, const Limits& limits) {
  if (observed.has_address) return {Step::Proceed, ""};
  auto judgement = within(elapsed, limits.provisioning, "no address");
  if (judgement.step == Step::Fail && required.optional)
    return {Step::Skip, judgement.reason + kCannotTell};
  return judgement;
}

/// Whether a condition still says what it said before. The KEP moves lastTransitionTime on every
/// change that the provider has seen (Provisioning) or applied (Serving), even if the status stays.
bool same_time(const ObservedStatus& before, const ObservedStatus& now, const char* type) {
  const auto* const old = find_condition(before, type);
  const auto* const fresh = find_condition(now, type);
  if (old == nullptr || fresh == nullptr) return old == fresh;
  return old->last_transition == fresh->last_transition && old->status == fresh->status;
}
}  // namespace

ObservedStatus observed_status(const core::Service& service) {
  ObservedStatus out;
  for (const auto& condition : service.status.conditions)
    if (condition.type.starts_with(kConditionPrefix)) out.conditions.push_back(condition);
  out.has_address = !service.status.ingress.empty();
  out.has_finalizer = core::has_finalizer(service);
  return out;
}

Provider judge_provider(const ObservedStatus& observed, milliseconds elapsed,
                        milliseconds with_address, const Limits& limits) {
  if (find_condition(observed, core::kServingCondition) != nullptr ||
      find_condition(observed, core::kProvisioningCondition) != nullptr)
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
  // A provider that was found not to write conditions is taken at its word once it does.
  const bool writes_conditions =
      provider == Provider::WithConditions ||
      judge_provider(observed, {}, {}, limits) == Provider::WithConditions;
  if (!writes_conditions) return judge_without_conditions(required, observed, waited.total, limits);
  return judge_conditions(observed, waited, limits);
}

Judgement judge_change(const Requirements& required, const Change& change,
                       const ObservedStatus& observed, const Waited& waited, const Limits& limits) {
  // Until Provisioning's time has moved, all conditions are about the Service before the change and
  // must not be judged: a stale Serving=True would let the test proceed too early.
  if (same_time(change.before, observed, core::kProvisioningCondition))
    return within(waited.total, limits.conditions,
                  "the provider has not reported that it saw the change (the transition time of "
                  "LoadBalancerProvisioning has not moved)");
  const Requirements now{
      .optional = false, .features = required.features, .declared = required.declared};
  if (const auto refused = judge_refusal(now, observed)) return *refused;
  auto judgement = judge_conditions(observed, waited, limits);
  // Serving's time moves when a change takes effect, if clients can see it at all.
  if (judgement.step == Step::Proceed && change.visible &&
      same_time(change.before, observed, core::kServingCondition))
    return tolerate_partial_write(
        waited, limits,
        "the provider has not reported that the change took effect (the transition time of "
        "LoadBalancerServing has not moved)");
  return judgement;
}

Judgement judge_local(ClientAddress seen, const ObservedStatus& observed) {
  static const Requirements kPolicy{.features = {"ExternalTrafficPolicy"}};
  const auto* const degraded = find_condition(observed, core::kDegradedCondition);
  const bool told = is(degraded, ConditionStatus::True) && concerns(*degraded, kPolicy);
  if (seen == ClientAddress::Lost && !told)
    return {Step::Fail,
            "pods do not see the client's address, but LoadBalancerDegraded does not say so "
            "(ExternalTrafficPolicyNotSupported)"};
  if (seen == ClientAddress::Preserved && told && degraded->reason != "Multiple")
    return {Step::Proceed,
            "pods see the client's address, although the provider reports " + quote(*degraded)};
  return {Step::Proceed, ""};
}

std::string describe(const ObservedStatus& observed) {
  std::string out;
  for (const auto& one : observed.conditions)
    out += (out.empty() ? "" : ", ") + one.type.substr(kConditionPrefix.size()) + "=" +
           core::name_of(one.status) + "/" + one.reason;
  return out.empty() ? "no conditions" : out;
}

}  // namespace kindlb::conformance
