// The reflectors against a scripted API server: what a real one does once a month.

#include "kube/recording_observer.hpp"
#include "support/servers/http_server.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

using namespace kindlb;
using test::Exchange;
using test::RecordingObserver;
using Clock = std::chrono::steady_clock;

namespace {
std::string item(const std::string& name) {
  return R"({"metadata":{"name":")" + name +
         R"(","namespace":"n","uid":"u","resourceVersion":"1"}})";
}

std::string page(const std::string& version, const std::string& items,
                 const std::string& token = "") {
  return R"({"kind":"List","metadata":{"resourceVersion":")" + version + R"(","continue":")" +
         token + R"("},"items":[)" + items + "]}";
}

std::string event(const std::string& type, const std::string& name, const std::string& version) {
  return R"({"type":")" + type + R"(","object":{"metadata":{"name":")" + name +
         R"(","namespace":"n","uid":"u","resourceVersion":")" + version + "\"}}}\n";
}

const std::string kExpired =
    R"({"kind":"Status","message":"too old resource version","reason":"Expired","code":410})";

/// Streams these bytes and closes the watch properly.
test::Script watch_of(const std::string& bytes) {
  return [bytes](Exchange& exchange) {
    exchange.start_chunks();
    if (!bytes.empty()) exchange.chunk(bytes);
    exchange.end_chunks();
  };
}

test::Script answer(int status, const std::string& body) {
  return [status, body](Exchange& exchange) { exchange.answer(status, body); };
}

/// A watch that stays open and silent after these bytes.
test::Script open_watch(const std::string& bytes = "") {
  return [bytes](Exchange& exchange) {
    exchange.start_chunks();
    if (!bytes.empty()) exchange.chunk(bytes);
    exchange.stall();
  };
}

bool is_watch(const std::string& target) {
  return target.find("watch=1") != std::string::npos;
}

/// Nodes and EndpointSlices are empty and quiet; requests for Services are answered by the scripts
/// in turn, the last one again and again.
class ScriptedApi {
 public:
  ScriptedApi(std::vector<test::Script> lists, std::vector<test::Script> watches)
      : lists_(lists.begin(), lists.end()),
        watches_(watches.begin(), watches.end()),
        server_([this](Exchange& exchange) { serve(exchange); }) {}

  std::shared_ptr<http::Client> client() {
    auto made = http::make_client({.url = server_.url()});
    REQUIRE(made.ok());
    return std::move(*made);
  }
  /// Targets of the requests for Services so far.
  std::vector<std::string> targets() {
    const std::lock_guard lock(mutex_);
    return targets_;
  }
  std::vector<Clock::time_point> watch_times() {
    const std::lock_guard lock(mutex_);
    return watch_times_;
  }
  test::HttpServer& server() { return server_; }

 private:
  void serve(Exchange& exchange) {
    const auto target = exchange.request().target;
    if (!target.starts_with("/api/v1/services"))
      return is_watch(target) ? open_watch()(exchange) : exchange.answer(200, page("1", ""));
    next(target)(exchange);
  }
  test::Script next(const std::string& target) {
    const std::lock_guard lock(mutex_);
    targets_.push_back(target);
    if (is_watch(target)) watch_times_.push_back(Clock::now());
    auto& scripts = is_watch(target) ? watches_ : lists_;
    const auto script = scripts.front();
    if (scripts.size() > 1) scripts.pop_front();
    return script;
  }

  std::mutex mutex_;
  std::deque<test::Script> lists_;
  std::deque<test::Script> watches_;
  std::vector<std::string> targets_;
  std::vector<Clock::time_point> watch_times_;
  test::HttpServer server_;
};

bool watches_from(const std::string& target, const std::string& version) {
  return is_watch(target) && target.find("&resourceVersion=" + version + "&") != std::string::npos;
}

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

TEST_CASE("the observer receives all pages of a list at once") {
  RecordingObserver recorder;
  ScriptedApi api({answer(200, page("7", item("a"), "more+")), answer(200, page("7", item("b")))},
                  {open_watch()});
  const auto reflectors = kube::start_reflectors(api.client(), "kind", recorder);
  CHECK(recorder.wait_for("services: n/a n/b"));
  CHECK(recorder.wait_for("nodes:"));
  CHECK(recorder.wait_for("slices:"));
  CHECK(recorder.wait_for("state services ok"));
  REQUIRE(api.targets().size() >= 2);
  CHECK(api.targets()[0] == "/api/v1/services?limit=500");
  CHECK(api.targets()[1] == "/api/v1/services?limit=500&continue=more%2B");
}

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
    test::Script watch;
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

TEST_CASE("a continue token that expired starts the list again") {
  RecordingObserver recorder;
  ScriptedApi api({answer(200, page("7", item("a"), "old")), answer(410, kExpired),
                   answer(200, page("8", item("b")))},
                  {open_watch()});
  const auto reflectors = kube::start_reflectors(api.client(), "kind", recorder);
  CHECK(recorder.wait_for("services: n/b"));
  CHECK(recorder.count("services: n/a") == 0);
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
