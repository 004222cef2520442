#include "conformance/observed_statuses.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace kindlb;
using namespace kindlb::conformance;

namespace {
ObservedStatus address_before_conditions() {
  return {{}, true, true};
}
ObservedStatus interrupted() {
  return {
      {serving(kFalse, "Infrastructure", 1), provisioning(kTrue, "Provisioning", 1)}, true, true};
}
ObservedStatus with_address(ObservedStatus observed) {
  observed.has_address = true;
  return observed;
}
ObservedStatus without_address(ObservedStatus observed) {
  observed.has_address = false;
  return observed;
}
ObservedStatus without_finalizer(ObservedStatus observed) {
  observed.has_finalizer = false;
  return observed;
}
ObservedStatus with_condition(ObservedStatus observed, core::Condition condition) {
  observed.conditions.push_back(std::move(condition));
  return observed;
}
ObservedStatus one_condition(core::Condition condition) {
  return {{std::move(condition)}, false, true};
}
ObservedStatus unknown_serving() {
  return {{serving(kUnknown, "?"), provisioning(kTrue, "Provisioning")}, false, true};
}
ObservedVersion foreign(ObservedStatus observed) {
  return {.status = std::move(observed), .concerns_provider = false};
}
ObservedVersion after_gap(ObservedStatus observed) {
  return {.status = std::move(observed), .follows = false};
}
}  // namespace

TEST_CASE("every version of a Service keeps the rules, however short its life") {
  struct Case {
    const char* name;
    std::vector<ObservedVersion> versions;
    std::vector<std::string> broken;
  };
  const std::string alone = "LoadBalancerServing without LoadBalancerProvisioning";
  const std::string early = "an address appeared with LoadBalancerServing=False";
  const std::string degraded_false = "LoadBalancerDegraded=False, which must be True or absent";
  const std::vector<Case> cases = {
      {"provisioned, then served", {{nothing()}, {at_work()}, {served(1, 1)}}, {}},
      {"served at once", {{nothing()}, {served()}}, {}},
      {"refused", {{nothing()}, {refused()}}, {}},
      {"degraded", {{nothing()}, {degraded("SessionAffinityNotSupported")}}, {}},
      {"interrupted, the address stays", {{served()}, {interrupted()}, {served(2, 2)}}, {}},
      {"a refusal clears the address", {{served()}, {refused()}}, {}},
      {"the address one version early",
       {{nothing()}, {address_before_conditions()}, {served()}},
       {"an address appeared without LoadBalancerServing"}},
      {"the address while it is provisioned",
       {{nothing()}, {at_work()}, {with_address(at_work())}, {served(1, 1)}},
       {early}},
      {"the address one version late",
       {{nothing()}, {at_work()}, {without_address(served(1, 1))}, {served(1, 1)}},
       {"LoadBalancerServing=True without an address"}},
      {"the address gone before Serving is False",
       {{served()}, {without_address(served())}, {refused()}},
       {"LoadBalancerServing=True without an address"}},
      {"one condition after the other",
       {{nothing()}, {one_condition(serving(kFalse, "Provisioning"))}, {at_work()}},
       {alone}},
      {"the other one first",
       {{nothing()}, {one_condition(provisioning(kTrue, "Provisioning"))}, {at_work()}},
       {"LoadBalancerProvisioning without LoadBalancerServing"}},
      {"unknown for a moment",
       {{nothing()}, {unknown_serving()}, {at_work()}},
       {"LoadBalancerServing=Unknown"}},
      {"never degraded, it says",
       {{with_condition(served(), condition(core::kDegradedCondition, kFalse, "Fine"))}},
       {degraded_false}},
      {"a time that goes back",
       {{served(5, 5)}, {served(5, 4)}},
       {"the transition time of LoadBalancerServing went backwards"}},
      {"times after a new beginning",
       {{served(5, 5)}, foreign(nothing()), {nothing()}, {served(1, 1)}},
       {}},
      {"broken twice, told once",
       {{one_condition(serving(kFalse, "Provisioning"))},
        {at_work()},
        {one_condition(serving(kFalse, "Provisioning", 1))}},
       {alone}},
      {"of another class or type", {foreign(nothing()), foreign(address_before_conditions())}, {}},
      {"what another type left behind",
       {{served()},
        foreign(without_address(served())),
        {without_address(without_finalizer(served()))},
        {without_address(served())},
        {at_work()}},
       {}},
      {"an address that may have been served between two versions",
       {{at_work()}, after_gap(interrupted())},
       {}},
      {"what is wrong by itself is wrong after a gap, too",
       {{at_work()}, after_gap(without_address(served()))},
       {"LoadBalancerServing=True without an address"}},
  };
  for (const auto& one : cases) {
    CAPTURE(one.name);
    CHECK(judge_versions(one.versions) == one.broken);
  }
}

TEST_CASE("a provider that hides its clients has to say so") {
  struct Case {
    const char* name;
    ClientAddress seen;
    ObservedStatus observed;
    Step expected;
    bool remark;
  };
  const auto policy = degraded("ExternalTrafficPolicyNotSupported");
  const std::vector<Case> cases = {
      {"hidden and told", ClientAddress::Lost, policy, Step::Proceed, false},
      {"hidden, the feature's name alone", ClientAddress::Lost, degraded("ExternalTrafficPolicy"),
       Step::Proceed, false},
      {"hidden, among others", ClientAddress::Lost, degraded("Multiple"), Step::Proceed, false},
      {"hidden, not told", ClientAddress::Lost, served(), Step::Fail, true},
      {"hidden, told of something else", ClientAddress::Lost,
       degraded("SessionAffinityNotSupported"), Step::Fail, true},
      {"preserved", ClientAddress::Preserved, served(), Step::Proceed, false},
      {"preserved, yet called degraded", ClientAddress::Preserved, policy, Step::Proceed, true},
      {"preserved, degraded in several things", ClientAddress::Preserved, degraded("Multiple"),
       Step::Proceed, false},
      {"translated on the way, perhaps", ClientAddress::Translated, served(), Step::Proceed, false},
      {"translated, and degraded", ClientAddress::Translated, policy, Step::Proceed, false},
  };
  for (const auto& one : cases) {
    CAPTURE(one.name);
    const auto judgement = judge_local(one.seen, one.observed);
    CHECK(judgement.step == one.expected);
    CHECK(judgement.reason.empty() == !one.remark);
  }
}
