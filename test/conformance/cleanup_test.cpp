#include "kindlb/conformance/runner.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

using namespace kindlb;
using namespace kindlb::conformance;
using Json = nlohmann::json;

namespace {
/// An API with one Service that bears the tests' label, whatever the selector.
class OneLeftover final : public kube::Objects {
 public:
  core::Result<Json> get(const std::string& path, std::stop_token /*stop*/) override {
    if (path == "/api/v1/nodes") return nodes;
    const bool services = path.find("/services?") != std::string::npos;
    Json items = Json::array();
    if (services && there) items.push_back({{"metadata", metadata}});
    return Json{{"items", items}};
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
  void watch(const std::string& /*path*/, kube::ObjectObserver& /*observer*/,
             const std::stop_token& /*stop*/) override {}
  core::Result<void> remove(const std::string& path, std::stop_token /*stop*/) override {
    ++removals;
    if (removals <= failures) return core::Error{failure, "DELETE " + path, "scripted"};
    there = false;
    return {};
  }

  core::Result<void> remove_now(const std::string& path) override { return remove(path, {}); }

  Json nodes = Json{{"items", Json::array()}};
  Json metadata{{"namespace", "n"}, {"name", "s"}};  ///< of the Service
  bool there = true;
  int removals = 0;
  int failures = 0;  ///< of the first removals
  core::ErrorKind failure = core::ErrorKind::Unavailable;

 private:
  static core::Error unexpected(const std::string& path) {
    return {core::ErrorKind::Protocol, path, "not expected in this test"};
  }
};

class SilentListener final : public Listener {
 public:
  void message(const std::string& /*line*/) override {}
  void test_finished(const TestResult& /*result*/) override {}
};
}  // namespace

TEST_CASE("a removal that failed is tried again") {
  OneLeftover api;
  SilentListener listener;
  api.failures = 1;
  CHECK(remove_leftovers(api, listener, {}).ok());
  CHECK(api.removals == 2);
}

TEST_CASE("a removal that is not allowed ends at once, and says so") {
  OneLeftover api;
  SilentListener listener;
  api.failures = 1;
  api.failure = core::ErrorKind::Denied;
  const auto done = remove_leftovers(api, listener, {});
  REQUIRE_FALSE(done.ok());
  CHECK(done.error().kind == core::ErrorKind::Denied);
  CHECK(done.error().detail.find("DELETE /api/v1/namespaces/n/services/s") != std::string::npos);
  CHECK(api.removals == 1);
}

TEST_CASE("nothing is removed by a name that nobody can read") {
  OneLeftover api;
  SUBCASE("none") {
    api.metadata = Json{{"namespace", "n"}};
  }
  SUBCASE("not in a namespace") {
    api.metadata = Json{{"name", "s"}};
  }
  SUBCASE("no text") {
    api.metadata = Json{{"namespace", "n"}, {"name", 1}};
  }
  const auto found = find_leftovers(api);
  REQUIRE_FALSE(found.ok());
  CHECK(found.error().kind == core::ErrorKind::Protocol);
  SilentListener listener;
  std::stop_source stop;
  stop.request_stop();
  CHECK_FALSE(remove_leftovers(api, listener, stop.get_token()).ok());
  CHECK(api.removals == 0);
}

TEST_CASE("an answer that breaks the API's promises ends the run, which still cleans up") {
  OneLeftover api;
  SilentListener listener;
  api.nodes = Json::parse(R"({"items":[{"status":{"addresses":[{"address":1}]}}]})");
  const auto report = run(api, {}, listener, {});
  REQUIRE_FALSE(report.ok());
  CHECK(report.error().kind == core::ErrorKind::Protocol);
  CHECK(api.removals == 1);
}
