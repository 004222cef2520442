// The direct path, node ports, and back: every state with every observation.
#include "kindlb/core/path_fallback.hpp"

#include <doctest/doctest.h>

using namespace kindlb::core;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr PathState kUntried{};
constexpr PathState kBlocked{.direct = DirectPath::Blocked};
constexpr PathState kProven{.direct = DirectPath::Proven};

PathState on(DirectPath direct, DirectRetry retry, unsigned retries = 1) {
  return {direct, retry, retries};
}

PathObservation fallback(Reach reach = Reach::Unknown, bool retried = false) {
  return {.reach = reach, .on_fallback = true, .direct_retried = retried};
}

}  // namespace

TEST_CASE("the first time that no pod answers, node ports are used") {
  CHECK(fall_back(kUntried) == kBlocked);
  CHECK(fall_back(kProven) == kBlocked);
  CHECK_FALSE(fall_back(kBlocked));
}

TEST_CASE("steps of the way back to the direct path") {
  constexpr auto kIdle = DirectRetry::Idle;
  constexpr auto kWaiting = DirectRetry::Waiting;
  constexpr auto kDue = DirectRetry::Due;
  constexpr auto kNo = DirectPath::Blocked;
  struct Row {
    const char* name;
    PathState before;
    PathObservation seen;
    PathStep after;
  };
  const Row rows[] = {
      {"not on node ports: nothing", kUntried, {}, {.state = kUntried}},
      {"not on node ports: what was proven stays", kProven, {}, {.state = kProven}},
      {"left node ports while a retry waited: begin anew",
       on(kNo, kWaiting, 4),
       {},
       {.state = kBlocked}},
      {"left node ports while a retry was due: begin anew",
       on(kNo, kDue, 4),
       {.reach = Reach::Reached, .direct_retried = true},
       {.state = kBlocked}},
      {"on node ports: the first retry",
       kBlocked,
       fallback(),
       {.state = on(kNo, kWaiting), .retry_after = seconds(5)}},
      {"on node ports after a restart: the same",
       kUntried,
       fallback(),
       {.state = on(DirectPath::Untried, kWaiting), .retry_after = seconds(5)}},
      {"the second retry: twice the delay",
       on(kNo, kIdle, 1),
       fallback(),
       {.state = on(kNo, kWaiting, 2), .retry_after = seconds(10)}},
      {"the tenth: five minutes at most",
       on(kNo, kIdle, 9),
       fallback(),
       {.state = on(kNo, kWaiting, 10), .retry_after = seconds(150)}},
      {"waiting: no second timer",
       on(kNo, kWaiting),
       fallback(Reach::Reached),
       {.state = on(kNo, kWaiting)}},
      {"due, not yet sent: nothing",
       on(kNo, kDue),
       fallback(Reach::Reached),
       {.state = on(kNo, kDue)}},
      {"due, sent, not yet answered: nothing",
       on(kNo, kDue),
       fallback(Reach::Unknown, true),
       {.state = on(kNo, kDue)}},
      {"no pod answered: stay, and retry later",
       on(kNo, kDue),
       fallback(Reach::Unreachable, true),
       {.state = on(kNo, kIdle), .plan_again = true}},
      {"a pod answered: return",
       on(kNo, kDue),
       fallback(Reach::Reached, true),
       {.state = on(DirectPath::Proven, kIdle), .returns = true, .plan_again = true}},
      {"a pod refused: the path works, return",
       on(kNo, kDue),
       fallback(Reach::Refused, true),
       {.state = on(DirectPath::Proven, kIdle), .returns = true, .plan_again = true}},
  };
  for (const auto& row : rows) {
    CAPTURE(row.name);
    CHECK(next_step(row.before, row.seen, 0.0) == row.after);
  }
}

TEST_CASE("the delay of a retry varies, up to the whole of it") {
  const auto delay = [](double random) {
    return next_step(kBlocked, fallback(), random).retry_after;
  };
  CHECK(delay(0.5) == milliseconds(7'500));
  CHECK(*delay(0.999) <= seconds(10));
}

TEST_CASE("a delay that has passed makes a waiting retry due, and no other") {
  CHECK(direct_retry_due(on(DirectPath::Blocked, DirectRetry::Waiting, 3)) ==
        on(DirectPath::Blocked, DirectRetry::Due, 3));
  CHECK_FALSE(direct_retry_due(on(DirectPath::Blocked, DirectRetry::Idle)));
  CHECK_FALSE(direct_retry_due(on(DirectPath::Blocked, DirectRetry::Due)));
}
