#include "reconciler/rewrite_limit.hpp"

#include "kindlb/core/conditions.hpp"
#include "support/builders.hpp"

#include <doctest/doctest.h>

using namespace kindlb;
using namespace std::chrono_literals;
using controller::Loop;
using controller::RewriteLimit;

namespace {

core::StatusApply status(const std::string& mark, long time = 0) {
  core::StatusApply out{.key = {"kind", "default", "web"}, .uid = "u", .observed = mark};
  out.conditions = {{core::kServingCondition, core::ConditionStatus::True, "Serving", "Serving.",
                     test::at(time)}};
  return out;
}

/// How often the same status is written within a minute by one who tries without a pause.
int writes_in_a_minute(RewriteLimit& limit, Loop::TimePoint begin) {
  int out = 0;
  for (auto now = begin; now < begin + 60s; now += 1ms) {
    if (limit.wait(status("a", out), now) > 0ms) continue;
    limit.accepted(status("a", out), now, 0.5);
    ++out;
  }
  return out;
}

}  // namespace

TEST_CASE("another status may be written at once") {
  RewriteLimit limit;
  const Loop::TimePoint now{1h};
  for (const auto* mark : {"a", "b", "c", "d"}) {
    CHECK(limit.wait(status(mark), now) == 0ms);
    limit.accepted(status(mark), now, 0.5);
  }
}

TEST_CASE("the same status is written a few times a minute, and less often the longer it goes on") {
  RewriteLimit limit;
  const Loop::TimePoint begin{1h};
  CHECK(writes_in_a_minute(limit, begin) <= 8);
  CHECK(writes_in_a_minute(limit, begin + 60s) <= 2);
  SUBCASE("something else ends the quarrel") {
    CHECK(limit.wait(status("b"), begin + 120s) == 0ms);
    limit.accepted(status("b"), begin + 120s, 0.5);
    CHECK(limit.wait(status("a"), begin + 120s) == 0ms);
  }
  SUBCASE("so does time") {
    limit.accepted(status("a"), begin + 10min, 0.5);
    CHECK(limit.wait(status("a"), begin + 10min) == 0ms);
  }
}
