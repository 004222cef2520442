#include "conformance/observed_statuses.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <optional>
#include <vector>

using namespace kindlb;
using namespace kindlb::conformance;
using namespace std::chrono_literals;

TEST_CASE("a change is over when both conditions have told of it") {
  struct Case {
    const char* name;
    bool visible;
    ObservedStatus now;
    milliseconds elapsed;
    Step expected;
    std::optional<milliseconds> unchanged = std::nullopt;  ///< other than elapsed
  };
  const auto reprovisioning = [](int second) {
    return ObservedStatus{{serving(kTrue, "Serving"), provisioning(kTrue, "Provisioning", second)},
                          true};
  };
  auto late_refusal = refused();
  late_refusal.conditions[1].last_transition = core::Timestamp(2s);
  auto late_degraded = degraded("SessionAffinityNotSupported");
  late_degraded.conditions[1].last_transition = core::Timestamp(2s);
  const std::vector<Case> cases = {
      {"not seen yet", true, served(), 29s, Step::Wait},
      {"never seen", true, served(), 30s, Step::Fail},
      {"seen, being worked on", true, reprovisioning(2), 31s, Step::Wait},
      {"seen within the same second", true, reprovisioning(0), 1s, Step::Wait},
      {"worked on for too long", true, reprovisioning(2), 600s, Step::Fail},
      {"has effect", true, served(2, 2), 1s, Step::Proceed},
      {"seen, its effect not told yet", true, served(2, 0), 1s, Step::Wait},
      {"seen, its effect never told", true, served(2, 0), 30s, Step::Fail},
      {"its effect told second, late", true, served(2, 0), 60s, Step::Wait, 1s},
      {"seen, and clients cannot tell", false, served(2, 0), 0ms, Step::Proceed},
      {"the conditions have gone", true, nothing(), 30s, Step::Fail},
      {"refused after it was served", true, late_refusal, 0ms, Step::Fail},
      {"degraded after it was served", true, late_degraded, 0ms, Step::Fail},
  };
  const Requirements required{.optional = true, .features = {"SessionAffinity"}};
  for (const auto& one : cases) {
    CAPTURE(one.name);
    const Change change{served(), one.visible};
    const auto judgement = judge_change(
        required, change, one.now, {one.elapsed, one.unchanged.value_or(one.elapsed)}, kLimits);
    CAPTURE(judgement.reason);
    CHECK(judgement.step == one.expected);
  }
}
