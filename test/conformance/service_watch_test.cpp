// The record of versions, with an API whose watch does what the test says.

#include "service_watch.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <future>
#include <string>
#include <vector>

using namespace kindlb;
using namespace kindlb::conformance;
using Json = nlohmann::json;

namespace {
Json service(const std::string& version) {
  Json out;
  out["metadata"] = {
      {"name", "web"}, {"namespace", "n"}, {"uid", "u"}, {"resourceVersion", version}};
  out["spec"]["type"] = "LoadBalancer";
  return out;
}

/// Hands over the observer; nothing else is expected of it.
class WatchedObjects final : public kube::Objects {
 public:
  core::Result<Json> get(const std::string& path, std::stop_token /*stop*/) override {
    return unexpected(path);
  }
  core::Result<std::string> text(const std::string& path, std::stop_token /*stop*/) override {
    return unexpected(path);
  }
  core::Result<Json> create(const std::string& path, const Json& /*object*/,
                            std::stop_token /*stop*/) override {
    return unexpected(path);
  }
  core::Result<Json> patch(const std::string& path, const Json& /*changes*/,
                           std::stop_token /*stop*/) override {
    return unexpected(path);
  }
  core::Result<Json> strategic_patch(const std::string& path, const Json& /*changes*/,
                                     std::stop_token /*stop*/) override {
    return unexpected(path);
  }
  core::Result<Json> apply(const std::string& path, const Json& /*object*/,
                           const std::string& /*manager*/, std::stop_token /*stop*/) override {
    return unexpected(path);
  }
  void watch(const std::string& path, kube::ObjectObserver& observer,
             const std::stop_token& /*stop*/) override {
    watched_path = path;
    handed_over.set_value(&observer);
  }
  core::Result<void> remove(const std::string& path, std::stop_token /*stop*/) override {
    return unexpected(path);
  }
  core::Result<void> remove_now(const std::string& path) override { return unexpected(path); }

  std::string watched_path;
  std::promise<kube::ObjectObserver*> handed_over;

 private:
  static core::Error unexpected(const std::string& path) {
    return {core::ErrorKind::Protocol, path, "not expected in this test"};
  }
};

struct Fixture {
  Fixture() : watch(objects, "/services"), api(*objects.handed_over.get_future().get()) {
    api.listed({});
    api.watch_state({});
  }
  /// "12 !15": the versions so far; a mark where some may be missing before it.
  std::string versions() const {
    std::string out;
    for (const auto& one : watch.versions("web"))
      out += (out.empty() ? "" : " ") + std::string(one.follows ? "" : "!") +
             one.service.resource_version;
    return out;
  }

  WatchedObjects objects;
  ServiceWatch watch;
  kube::ObjectObserver& api;
};

const core::Error kCut{core::ErrorKind::Unavailable, "watch services", "cut off"};
}  // namespace

TEST_CASE("every version is kept, also those that nobody waited for") {
  Fixture fixture;
  CHECK(fixture.objects.watched_path == "/services");
  for (const char* version : {"9", "10", "11"}) fixture.api.changed(service(version));
  REQUIRE(fixture.versions() == "9 10 11");
  CHECK(fixture.watch.newest("web", "10", {})->resource_version == "11");
  CHECK(fixture.watch.last_failure().empty());
}

TEST_CASE("who has read a version waits until the watch has come as far") {
  Fixture fixture;
  fixture.api.changed(service("9"));
  auto waiting =
      std::async(std::launch::async, [&] { return fixture.watch.newest("web", "10", {}); });
  fixture.api.changed(service("10"));
  CHECK(waiting.get()->resource_version == "10");
  CHECK(fixture.versions() == "9 10");
}

TEST_CASE("a watch that had to list again may have missed versions") {
  Fixture fixture;
  fixture.api.changed(service("9"));
  SUBCASE("but not if nothing has changed") {
    fixture.api.listed({service("9")});
    fixture.api.changed(service("10"));
    CHECK(fixture.versions() == "9 10");
  }
  SUBCASE("of a Service that has changed") {
    fixture.api.listed({service("12")});
    fixture.api.changed(service("13"));
    CHECK(fixture.versions() == "9 !12 13");
  }
}

TEST_CASE("a broken watch holds nobody up, and what was read counts instead") {
  Fixture fixture;
  fixture.api.changed(service("9"));
  fixture.api.watch_state(kCut);
  CHECK_FALSE(fixture.watch.newest("web", "12", {}));
  fixture.watch.add_read(*kube::service_from(service("12")));
  CHECK(fixture.versions() == "9 !12");
  CHECK(fixture.watch.last_failure().find("cut off") != std::string::npos);
  SUBCASE("a list that was made before comes too late") {
    fixture.api.listed({service("11")});
    fixture.api.watch_state({});
    CHECK(fixture.versions() == "9 !12");
  }
  SUBCASE("then it goes on") {
    fixture.api.listed({service("12")});
    fixture.api.watch_state({});
    fixture.api.changed(service("13"));
    CHECK(fixture.watch.newest("web", "13", {})->resource_version == "13");
    CHECK(fixture.versions() == "9 !12 13");
  }
}

TEST_CASE("a stop ends every wait") {
  Fixture fixture;
  std::stop_source stop;
  stop.request_stop();
  CHECK_FALSE(fixture.watch.newest("web", "1", stop.get_token()));
  fixture.watch.await_later("web", "1", std::chrono::minutes(10), stop.get_token());
  CHECK(fixture.watch.last_failure().empty());
}
