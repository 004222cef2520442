// The reflectors against a scripted API server: what a real one does once a month.

#include "kube/recording_observer.hpp"
#include "kube/scripted_api.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

using namespace kindlb;
using namespace kindlb::test;
using Clock = std::chrono::steady_clock;

namespace {
/// Fastest of three, so that a busy machine does not decide.
std::chrono::milliseconds time_to_stop(
    const std::function<std::unique_ptr<kube::Reflectors>()>& start) {
  auto best = std::chrono::milliseconds::max();
  for (int i = 0; i < 3; ++i) {
    auto reflectors = start();
    const auto begin = Clock::now();
    reflectors.reset();
    best =
        std::min(best, std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin));
  }
  return best;
}
}  // namespace

TEST_CASE("a watch goes on from the last event or bookmark") {
  RecordingObserver recorder;
  const std::string bookmark =
      R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"30"}}})"
      "\n";
  ScriptedApi api(
      {answer(200, page("7", ""))},
      {watch_of(event("ADDED", "a", "8") + event("MODIFIED", "a", "9")),
       watch_of(event("DELETED", "a", "10") + bookmark), open_watch(event("ADDED", "b", "31"))});
  const auto reflectors = kube::start_reflectors(api.client(), "kind", recorder);
  REQUIRE(recorder.wait_for("service n/b"));
  CHECK(recorder.count("service n/a") == 2);
  CHECK(recorder.count("no service n/a") == 1);
  CHECK(recorder.count("services:") == 1);
  const auto targets = api.targets();
  REQUIRE(targets.size() == 4);
  CHECK(watches_from(targets[1], "7"));
  CHECK(watches_from(targets[2], "9"));
  CHECK(watches_from(targets[3], "30"));
  CHECK(targets[1].find("allowWatchBookmarks=true") != std::string::npos);
}

TEST_CASE("an expired version leads to a new list, without an error") {
  const auto expired_event = R"({"type":"ERROR","object":)" + kExpired + "}\n";
  struct Case {
    const char* name;
    Script watch;
  };
  for (const auto& c : {Case{"in the stream", watch_of(expired_event)},
                        Case{"as the answer", answer(410, kExpired)}}) {
    SUBCASE(c.name) {
      RecordingObserver recorder;
      ScriptedApi api({answer(200, page("7", item("a"))), answer(200, page("20", item("b")))},
                      {c.watch, open_watch(event("ADDED", "c", "21"))});
      const auto reflectors = kube::start_reflectors(api.client(), "kind", recorder);
      REQUIRE(recorder.wait_for("service n/c"));
      CHECK(recorder.journal().find("services: n/a") < recorder.journal().find("services: n/b"));
      CHECK(watches_from(api.targets().back(), "20"));
      CHECK(recorder.last_error().empty());
    }
  }
}

TEST_CASE("a server that ends every watch at once is asked ever less often") {
  RecordingObserver recorder;
  ScriptedApi api({answer(200, page("7", ""))}, {watch_of("")});
  const auto reflectors = kube::start_reflectors(api.client(), "kind", recorder);
  REQUIRE(recorder.wait_for("state services Unavailable", 4));
  const auto times = api.watch_times();
  REQUIRE(times.size() >= 4);
  CHECK(times[3] - times[0] >= std::chrono::milliseconds(50 + 100 + 200));
}

TEST_CASE("a refusal is reported and retried") {
  RecordingObserver recorder;
  ScriptedApi api({answer(401, R"({"kind":"Status","message":"Unauthorized","code":401})"),
                   answer(500, "oops"), answer(200, "{"), answer(200, page("7", item("a")))},
                  {open_watch()});
  const auto reflectors = kube::start_reflectors(api.client(), "kind", recorder);
  REQUIRE(recorder.wait_for("services: n/a"));
  CHECK(recorder.wait_for("state services ok"));
  CHECK(recorder.count("state services Denied") == 1);
  CHECK(recorder.count("state services Unavailable") == 1);
  CHECK(recorder.count("state services Protocol") == 1);
  CHECK(recorder.last_error().starts_with("list services: "));
}

TEST_CASE("a cut connection is noticed, reported, and followed by a new list") {
  RecordingObserver recorder;
  ScriptedApi api({answer(200, page("7", item("a"))), answer(200, page("9", ""))},
                  {open_watch(event("ADDED", "b", "8")), open_watch(event("ADDED", "c", "10"))});
  const auto reflectors = kube::start_reflectors(api.client(), "kind", recorder);
  REQUIRE(recorder.wait_for("service n/b"));
  api.server().cut_connections();
  REQUIRE(recorder.wait_for("service n/c"));
  CHECK(recorder.count("services:") == 1);
  CHECK(recorder.count("state services Unavailable") == 1);
  CHECK(recorder.count("state services ok") == 2);
}

TEST_CASE("an unreadable object hides no other") {
  RecordingObserver recorder;
  const std::string poison =
      R"({"metadata":{"name":"x","namespace":"n","uid":"u"},"spec":{"type":"Magic"}})";
  ScriptedApi api(
      {answer(200, page("7", poison + "," + item("a")))},
      {open_watch(R"({"type":"ADDED","object":{"metadata":{"name":"y","resourceVersion":"8"}}})"
                  "\n" +
                  event("ADDED", "b", "9"))});
  const auto reflectors = kube::start_reflectors(api.client(), "kind", recorder);
  CHECK(recorder.wait_for("services: n/a"));
  CHECK(recorder.wait_for("service n/b"));
  CHECK(recorder.count("state services Protocol") == 2);
  CHECK(recorder.last_error().find("metadata.namespace: missing") != std::string::npos);
}

TEST_CASE("garbage in the stream ends the watch, not the reflector") {
  RecordingObserver recorder;
  ScriptedApi api({answer(200, page("7", "")), answer(200, page("9", item("a")))},
                  {watch_of("no JSON at all\n"), open_watch()});
  const auto reflectors = kube::start_reflectors(api.client(), "kind", recorder);
  CHECK(recorder.wait_for("state services Protocol"));
  CHECK(recorder.wait_for("services: n/a"));
}

TEST_CASE("stopping takes less than 50 ms") {
  RecordingObserver recorder;
  std::ptrdiff_t round = 0;
  SUBCASE("in silent watches") {
    ScriptedApi api({answer(200, page("7", ""))}, {open_watch(event("ADDED", "a", "8"))});
    CHECK(time_to_stop([&] {
            auto reflectors = kube::start_reflectors(api.client(), "kind", recorder);
            REQUIRE(recorder.wait_for("service n/a", ++round));
            return reflectors;
          }) < std::chrono::milliseconds(50));
  }
  SUBCASE("in a list that hangs") {
    ScriptedApi api({[](Exchange& exchange) { exchange.stall(); }}, {open_watch()});
    CHECK(time_to_stop([&] {
            auto reflectors = kube::start_reflectors(api.client(), "kind", recorder);
            REQUIRE(recorder.wait_for("nodes:", ++round));
            return reflectors;
          }) < std::chrono::milliseconds(50));
  }
  SUBCASE("in a pause") {
    ScriptedApi api({answer(500, "")}, {open_watch()});
    CHECK(time_to_stop([&] {
            auto reflectors = kube::start_reflectors(api.client(), "kind", recorder);
            REQUIRE(recorder.wait_for("state services Unavailable", round += 5));
            return reflectors;
          }) < std::chrono::milliseconds(50));
  }
}
