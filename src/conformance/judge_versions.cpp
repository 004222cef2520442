// The rules that hold for every single version of a Service, and for the step from one version to
// the next.

#include "condition_lookup.hpp"

namespace kindlb::conformance {

namespace {
using core::ConditionStatus;
using BrokenRules = std::vector<std::string>;

/// KEP-4631 has the provider set both conditions when it first becomes aware of a Service, and
/// knows four combinations of them. Unknown is in none of these, and neither is a missing one.
void check_both_conditions(const ObservedStatus& now, BrokenRules& broken) {
  const auto* const serving = find_condition(now, core::kServingCondition);
  const auto* const provisioning = find_condition(now, core::kProvisioningCondition);
  if ((serving == nullptr) != (provisioning == nullptr))
    broken.push_back(serving == nullptr ? "LoadBalancerProvisioning without LoadBalancerServing"
                                        : "LoadBalancerServing without LoadBalancerProvisioning");
  for (const auto* one : {serving, provisioning})
    if (is(one, ConditionStatus::Unknown)) broken.push_back(one->type + "=Unknown");
}

/// "If the cloud provider is not intentionally providing a degraded load balancer, it should leave
/// this condition unset."
void check_degraded(const ObservedStatus& now, BrokenRules& broken) {
  const auto* const degraded = find_condition(now, core::kDegradedCondition);
  if (degraded != nullptr && degraded->status != ConditionStatus::True)
    broken.push_back(degraded->type + "=" + core::name_of(degraded->status) +
                     ", which must be True or absent");
}

/// Serving=True is about the addresses in the status, so there must be some.
void check_served_addresses(const ObservedStatus& now, BrokenRules& broken) {
  if (is(find_condition(now, core::kServingCondition), ConditionStatus::True) && !now.has_address)
    broken.emplace_back("LoadBalancerServing=True without an address");
}

/// "It should switch from False to True at exactly the same time as the .Status.LoadBalancer field
/// is filled in." An address may stay while Serving is False later on, but not appear then.
void check_new_address(const ObservedStatus& before, const ObservedStatus& now,
                       BrokenRules& broken) {
  if (before.has_address || !now.has_address) return;
  const auto* const serving = find_condition(now, core::kServingCondition);
  if (is(serving, ConditionStatus::True)) return;
  broken.push_back("an address appeared " +
                   (serving == nullptr ? std::string("without LoadBalancerServing")
                                       : "with LoadBalancerServing=" +
                                             std::string(core::name_of(serving->status))));
}

void check_times(const ObservedStatus& before, const ObservedStatus& now, BrokenRules& broken) {
  for (const auto& one : now.conditions) {
    const auto* const old = find_condition(before, one.type);
    if (old != nullptr && one.last_transition < old->last_transition)
      broken.push_back("the transition time of " + one.type + " went backwards");
  }
}

/// The finalizer is not a part of what the rules are about.
bool shows_the_same(const ObservedStatus& before, const ObservedStatus& now) {
  return before.conditions == now.conditions && before.has_address == now.has_address;
}

BrokenRules judge_step(const ObservedVersion* before, const ObservedStatus& now) {
  BrokenRules broken;
  check_both_conditions(now, broken);
  check_degraded(now, broken);
  check_served_addresses(now, broken);
  if (before == nullptr) return broken;
  check_new_address(before->status, now, broken);
  check_times(before->status, now, broken);
  return broken;
}
}  // namespace

std::vector<std::string> judge_versions(const std::vector<ObservedVersion>& versions) {
  BrokenRules out;
  const ObservedVersion* before = nullptr;
  for (const auto& now : versions) {
    const auto* const known = before;
    before = &now;
    if (!now.concerns_provider) continue;
    if (known != nullptr && shows_the_same(known->status, now.status)) continue;
    for (auto& rule : judge_step(now.follows ? known : nullptr, now.status))
      if (std::ranges::find(out, rule) == out.end()) out.push_back(std::move(rule));
  }
  return out;
}

}  // namespace kindlb::conformance
