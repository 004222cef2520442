#include "conformance/observed_statuses.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

using namespace kindlb;
using namespace kindlb::conformance;
using namespace std::chrono_literals;

namespace {
const Requirements kRequired{};
const Requirements kOptional{.optional = true};
const Requirements kUndeclared{.optional = true, .features = {"SessionAffinity"}};
const Requirements kDeclared{.optional = true, .features = {"SessionAffinity"}, .declared = true};

ObservedStatus with(ObservedStatus observed, core::Condition condition) {
  observed.conditions.push_back(std::move(condition));
  return observed;
}
ObservedStatus without(ObservedStatus observed, const char* type) {
  std::erase_if(observed.conditions, [&](const auto& one) { return one.type == type; });
  return observed;
}
ObservedStatus no_address(ObservedStatus observed) {
  observed.has_address = false;
  return observed;
}
ObservedStatus address_only() {
  return {{}, true, true};
}
}  // namespace

TEST_CASE("who provides shows within the time the KEP gives") {
  struct Case {
    const char* name;
    ObservedStatus observed;
    milliseconds elapsed;
    milliseconds with_address;
    Provider expected;
  };
  const std::vector<Case> cases = {
      {"nothing yet", nothing(), 29'999ms, 0ms, Provider::Unknown},
      {"nothing at all", nothing(), 30s, 0ms, Provider::None},
      {"a finalizer, no more", {{}, false, true}, 29s, 0ms, Provider::Unknown},
      {"a finalizer, too late for conditions",
       {{}, false, true},
       30s,
       0ms,
       Provider::WithoutConditions},
      {"an address, conditions may follow", address_only(), 10s, 2'999ms, Provider::Unknown},
      {"an address without conditions", address_only(), 10s, 3s, Provider::WithoutConditions},
      {"an address at the last moment", address_only(), 30s, 0ms, Provider::WithoutConditions},
      {"both conditions", at_work(), 0ms, 0ms, Provider::WithConditions},
      {"one condition", without(at_work(), core::kServingCondition), 0ms, 0ms,
       Provider::WithConditions},
      {"a refusal", refused(), 0ms, 0ms, Provider::WithConditions},
      {"another's condition",
       {{condition("LoadBalancerPortsError", kTrue, "x")}, false, false},
       30s,
       0ms,
       Provider::None},
  };
  for (const auto& one : cases) {
    CAPTURE(one.name);
    CHECK(judge_provider(one.observed, one.elapsed, one.with_address, kLimits) == one.expected);
  }
}

TEST_CASE("a provider with conditions is judged at the earliest point") {
  struct Case {
    const char* name;
    Requirements required;
    ObservedStatus observed;
    milliseconds elapsed;
    Step expected;
    std::optional<milliseconds> unchanged = std::nullopt;  ///< other than elapsed
  };
  const auto serving_unknown =
      ObservedStatus{{serving(kUnknown, "?"), provisioning(kFalse, "Complete")}};
  const std::vector<Case> cases = {
      {"nothing yet", kRequired, nothing(), 29s, Step::Wait},
      {"no conditions in time", kRequired, nothing(), 30s, Step::Fail},
      {"no conditions in time, optional", kOptional, nothing(), 30s, Step::Fail},
      {"an address is no condition", kRequired, address_only(), 30s, Step::Fail},
      {"provisioning", kRequired, at_work(), 31s, Step::Wait},
      {"provisioning for too long", kRequired, at_work(), 600s, Step::Fail},
      {"provisioning for too long, optional", kOptional, at_work(), 600s, Step::Fail},
      {"serves at once", kRequired, served(), 0ms, Step::Proceed},
      {"serves in the end", kRequired, served(), 599s, Step::Proceed},
      {"serves, no address yet", kRequired, no_address(served()), 1s, Step::Wait},
      {"serves, never an address", kRequired, no_address(served()), 30s, Step::Fail},
      {"refused", kOptional, refused(), 0ms, Step::Skip},
      {"refused, while it says to work on it", kOptional,
       ObservedStatus{{serving(kFalse, "Unsupported"), provisioning(kTrue, "Provisioning")}}, 0ms,
       Step::Skip},
      {"refused, with the first condition alone", kOptional,
       without(refused(), core::kProvisioningCondition), 0ms, Step::Skip},
      {"refused what every provider must do", kRequired, refused(), 0ms, Step::Fail},
      {"infrastructure, given up", kOptional, broken(), 0ms, Step::Fail},
      {"infrastructure, but trying again", kOptional,
       ObservedStatus{{serving(kFalse, "Infrastructure"), provisioning(kTrue, "Provisioning")}},
       31s, Step::Wait},
      {"a contradiction may be half a write", kOptional, broken("Provisioning"), 1s, Step::Wait},
      {"a contradiction that stays", kOptional, broken("Provisioning"), 30s, Step::Fail},
      {"unknown", kRequired, serving_unknown, 1s, Step::Wait},
      {"unknown that stays", kRequired, serving_unknown, 30s, Step::Fail},
      {"half of the conditions", kRequired, without(served(), core::kProvisioningCondition), 1s,
       Step::Wait},
      {"half of the conditions stays", kRequired, without(served(), core::kProvisioningCondition),
       30s, Step::Fail},
      {"the other half stays", kRequired, without(served(), core::kServingCondition), 30s,
       Step::Fail},
      {"half a write, late", kRequired, broken("Provisioning"), 60s, Step::Wait, 1s},
      {"an address, late", kRequired, no_address(served()), 60s, Step::Wait, 1s},
      {"another half write, for ever", kRequired, broken("Provisioning"), 600s, Step::Fail, 1s},
      {"conditions, late", kRequired, nothing(), 30s, Step::Fail, 1s},
  };
  for (const auto& one : cases) {
    CAPTURE(one.name);
    const auto judgement =
        judge_creation(one.required, Provider::WithConditions, one.observed,
                       {one.elapsed, one.unchanged.value_or(one.elapsed)}, kLimits);
    CAPTURE(judgement.reason);
    CHECK(judgement.step == one.expected);
    CHECK(judgement.reason.empty() == (one.expected == Step::Proceed));
  }
}

TEST_CASE("a degraded load balancer counts when the test is about what it lacks") {
  struct Case {
    const char* name;
    Requirements required;
    ObservedStatus observed;
    Step expected;
  };
  const std::vector<Case> cases = {
      {"what the test is about", kUndeclared, degraded("SessionAffinityNotSupported"), Step::Skip},
      {"the feature's name alone", kUndeclared, degraded("SessionAffinity"), Step::Skip},
      {"several, so that too", kUndeclared, degraded("Multiple"), Step::Skip},
      {"something else", kUndeclared, degraded("ExternalTrafficPolicyNotSupported"), Step::Proceed},
      {"required, hence to be refused", kDeclared, degraded("SessionAffinityNotSupported"),
       Step::Fail},
      {"several with a required one", kDeclared, degraded("Multiple"), Step::Fail},
      {"required, degraded elsewhere", kDeclared, degraded("ExternalTrafficPolicyNotSupported"),
       Step::Proceed},
      {"a test about no feature", kRequired, degraded("ExternalTrafficPolicyNotSupported"),
       Step::Proceed},
      {"a test about no feature, several", kRequired, degraded("Multiple"), Step::Proceed},
      {"not degraded", kUndeclared,
       with(served(), condition(core::kDegradedCondition, kFalse, "SessionAffinityNotSupported")),
       Step::Proceed},
      {"told before it serves", kUndeclared,
       with(at_work(), condition(core::kDegradedCondition, kTrue, "SessionAffinityNotSupported")),
       Step::Skip},
  };
  for (const auto& one : cases) {
    CAPTURE(one.name);
    CHECK(judge_creation(one.required, Provider::WithConditions, one.observed, {}, kLimits).step ==
          one.expected);
  }
}

TEST_CASE("without conditions an address is all there is to go by") {
  const auto step = [](const Requirements& required, const ObservedStatus& observed,
                       milliseconds elapsed) {
    return judge_creation(required, Provider::WithoutConditions, observed, {elapsed, elapsed},
                          kLimits)
        .step;
  };
  CHECK(step(kRequired, address_only(), 0ms) == Step::Proceed);
  CHECK(step(kRequired, nothing(), 599s) == Step::Wait);
  CHECK(step(kRequired, nothing(), 600s) == Step::Fail);
  CHECK(step(kOptional, nothing(), 600s) == Step::Skip);
  SUBCASE("but who speaks once is taken at their word") {
    CHECK(step(kOptional, refused(), 0ms) == Step::Skip);
    CHECK(step(kRequired, at_work(), 31s) == Step::Wait);
    CHECK(step(kRequired, no_address(served()), 30s) == Step::Fail);
  }
}

TEST_CASE("reasons quote the provider") {
  const auto skipped = judge_creation(kOptional, Provider::WithConditions, refused(), {}, kLimits);
  CHECK(skipped.reason == "LoadBalancerServing=False/Unsupported: words");
  const auto late =
      judge_creation(kOptional, Provider::WithConditions, at_work(), {600s, 600s}, kLimits);
  CHECK(late.reason ==
        "still provisioning: Serving=False/Provisioning, Provisioning=True/Provisioning after 600 "
        "s");
}

TEST_CASE("a Service's status in short") {
  core::Service service;
  service.finalizers = {"other", core::kFinalizer};
  service.status.ingress = {{.ip = "10.0.0.1"}};
  service.status.conditions = {serving(kTrue, "Serving"), condition("Ready", kTrue, "x")};
  CHECK(observed_status(service) == ObservedStatus{{serving(kTrue, "Serving")}, true, true});
  CHECK(observed_status(core::Service{}) == ObservedStatus{});
  CHECK(describe(ObservedStatus{}) == "no conditions");
}
