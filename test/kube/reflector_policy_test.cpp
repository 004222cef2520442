#include "watch/reflector_policy.hpp"

#include <doctest/doctest.h>

#include <ostream>

using namespace kindlb::kube;
using namespace std::chrono_literals;
using End = StepResult::End;

namespace kindlb::kube {
static std::ostream& operator<<(std::ostream& out, const NextStep& next) {
  return out << (next.step == Step::List ? "list" : "watch") << " in " << next.pause.count()
             << " ms";
}
}  // namespace kindlb::kube

namespace {
constexpr NextStep kWatchNow{Step::Watch, 0ms};
constexpr NextStep kListNow{Step::List, 0ms};

StepResult watch(End end, bool received, std::chrono::milliseconds lasted) {
  return {.end = end, .received = received, .lasted = lasted};
}
}  // namespace

TEST_CASE("the first thing after each result") {
  struct Case {
    const char* name;
    Step step;
    StepResult result;
    NextStep want;
  };
  const Case cases[] = {
      {"listed", Step::List, {.end = End::Done}, kWatchNow},
      {"list failed", Step::List, {.end = End::Failed}, {Step::List, 50ms}},
      {"continue token expired", Step::List, {.end = End::Expired}, {Step::List, 50ms}},
      {"watch timed out at the server", Step::Watch, watch(End::Done, false, 300s), kWatchNow},
      {"watch with events", Step::Watch, watch(End::Done, true, 10ms), kWatchNow},
      {"short and silent", Step::Watch, watch(End::Done, false, 999ms), {Step::List, 50ms}},
      {"just long enough", Step::Watch, watch(End::Done, false, 1000ms), kWatchNow},
      {"expired", Step::Watch, watch(End::Expired, false, 5ms), kListNow},
      {"broke off", Step::Watch, watch(End::Failed, true, 300s), {Step::List, 50ms}},
      {"never began", Step::Watch, watch(End::Failed, false, 1ms), {Step::List, 50ms}},
      {"silent until our patience ended",
       Step::Watch,
       watch(End::Failed, false, 500s),
       {Step::List, 50ms}},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      ReflectorPolicy policy;
      CHECK(policy.after(c.step, c.result, 0.0) == c.want);
    }
  }
}

TEST_CASE("pauses double up to a limit, with jitter on top") {
  ReflectorPolicy policy;
  for (const auto want : {50ms, 100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 6400ms})
    CHECK(policy.after(Step::List, {.end = End::Failed}, 0.0) == NextStep{Step::List, want});
  for (int i = 0; i < 100; ++i)
    CHECK(policy.after(Step::List, {.end = End::Failed}, 0.999) == NextStep{Step::List, 10s});
  ReflectorPolicy jittered;
  CHECK(jittered.after(Step::List, {.end = End::Failed}, 0.5) == NextStep{Step::List, 62ms});
}

TEST_CASE("a list that works does not forgive watches that do not") {
  ReflectorPolicy policy;
  for (const auto want : {50ms, 100ms, 200ms}) {
    CHECK(policy.after(Step::Watch, watch(End::Failed, false, 1ms), 0.0) ==
          NextStep{Step::List, want});
    CHECK(policy.after(Step::List, {.end = End::Done}, 0.0) == kWatchNow);
  }
  SUBCASE("an event does") {
    policy.after(Step::Watch, watch(End::Done, true, 1ms), 0.0);
    CHECK(policy.after(Step::List, {.end = End::Failed}, 0.0) == NextStep{Step::List, 50ms});
  }
  SUBCASE("so does a watch that lasted") {
    policy.after(Step::Watch, watch(End::Done, false, 2s), 0.0);
    CHECK(policy.after(Step::List, {.end = End::Failed}, 0.0) == NextStep{Step::List, 50ms});
  }
  SUBCASE("a long wait for nothing does not") {
    CHECK(policy.after(Step::Watch, watch(End::Failed, false, 500s), 0.0) ==
          NextStep{Step::List, 400ms});
  }
}

TEST_CASE("a server that answers every watch with 410 is not asked in a hot loop") {
  ReflectorPolicy policy;
  CHECK(policy.after(Step::Watch, watch(End::Expired, false, 1ms), 0.0) == kListNow);
  CHECK(policy.after(Step::List, {.end = End::Done}, 0.0) == kWatchNow);
  CHECK(policy.after(Step::Watch, watch(End::Expired, false, 1ms), 0.0) ==
        NextStep{Step::List, 100ms});
  CHECK(policy.after(Step::Watch, watch(End::Expired, true, 1ms), 0.0) == kListNow);
}

TEST_CASE("how much a list may bring") {
  struct Case {
    const char* name;
    ListSize size;
    const char* says;  ///< empty: allowed
  };
  constexpr std::size_t kMiB = 1U << 20U;
  const Case cases[] = {
      {"nothing", {}, ""},
      {"what Kubernetes supports", {.pages = 20, .objects = 10'000, .bytes = 100 * kMiB}, ""},
      {"all bounds reached", {.pages = 1'000, .objects = 200'000, .bytes = 256 * kMiB}, ""},
      {"a page more", {.pages = 1'001}, "the list has more than 1000 pages"},
      {"an object more", {.objects = 200'001}, "the list has more than 200000 objects"},
      {"a byte more", {.bytes = 256 * kMiB + 1}, "the list has more than 256 MiB"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const auto checked = check_size(c.size);
      CHECK((checked ? "" : checked.error().detail) == c.says);
      if (!checked) CHECK(checked.error().kind == kindlb::core::ErrorKind::TooLarge);
    }
  }
}

TEST_CASE("how long a watch may take") {
  CHECK(watch_limits(false, 0.0).server == 240s);
  CHECK(watch_limits(false, 0.5).server == 360s);
  CHECK(watch_limits(false, 0.999).server < 480s);
  CHECK(watch_limits(false, 0.5).silence == 375s);
  CHECK(watch_limits(true, 0.5).silence == 150s);
}
