#include "kindlb/conformance/console.hpp"

#include <doctest/doctest.h>

#include <string>

using kindlb::conformance::ConformanceProgress;
using kindlb::conformance::live_line;
using std::chrono::seconds;

namespace {
ConformanceProgress two_at_work() {
  return {.total = 25,
          .done = 7,
          .failed = 0,
          .running = {{"dual-stack", {.state = "Serving=True/Serving", .wait = "endpoints"}},
                      {"source-ranges",
                       {.wait = "waiting for the pods to be ready", .waited = seconds(12)}}}};
}
}  // namespace

TEST_CASE("the live line says how far it is, and what everybody does") {
  CHECK(live_line(two_at_work(), 200) ==
        "7 of 25 done | dual-stack: Serving=True/Serving | source-ranges: waiting for the "
        "pods to be ready (12 s)");
}

TEST_CASE("the live line counts failures only when there are any") {
  auto progress = two_at_work();
  progress.failed = 2;
  CHECK(live_line(progress, 200).starts_with("7 of 25 done, 2 failed | "));
}

TEST_CASE("the live line fits the terminal") {
  CHECK(live_line(two_at_work(), 20) == "7 of 25 done | du...");
  CHECK(live_line(two_at_work(), 1) == "...");
}

TEST_CASE("the live line is one line, whatever a provider says") {
  CHECK(live_line({.running = {{"probe", {.wait = "a\nb\x1b", .waited = seconds(1)}}}}, 80) ==
        "probe: a\\nb\\x1b (1 s)");
}

TEST_CASE("before the first test there is no count, and at the end nothing") {
  CHECK(live_line({.running = {{"probe", {.wait = "nobody", .waited = seconds(1)}}}}, 80) ==
        "probe: nobody (1 s)");
  CHECK(live_line({}, 80).empty());
}
