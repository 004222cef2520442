// A Service from its creation to its end, with the real program: what is told, what is served, and
// that both agree.
#include "integration/stage.hpp"
#include "integration/traffic.hpp"
#include "kindlb/core/conditions.hpp"
#include "kindlb/core/eligibility.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace {

using namespace kindlb;
using it::kServing;
using it::Stage;
using it::told;
using testing::http_get;
using testing::OneAnswer;

constexpr const char* kWorking = "Serving=False/Provisioning Provisioning=True/Provisioning";
constexpr const char* kUpdating = "Serving=True/Serving Provisioning=True/Provisioning";

core::Timestamp time_of(const core::Service& service, const char* type) {
  const auto* condition = core::find_condition(service.status.conditions, type);
  REQUIRE(condition != nullptr);
  return condition->last_transition;
}

}  // namespace

TEST_CASE("a new Service is announced in one write and served in the next") {
  Stage stage;
  const OneAnswer backend(stage.gateway(), "hello");
  stage.put_endpoints("web", {{"", backend.target().port}});
  stage.start();
  stage.create_web("web");
  const auto served = stage.await_serving("web");
  CHECK(http_get(it::target_of(served)) == "hello");  // the very first request

  const auto pages = stage.diary().pages("web");
  REQUIRE(pages.size() == 3);
  CHECK(told(pages[0]).empty());
  const auto& announced = pages[1];
  CHECK(told(announced) == kWorking);
  CHECK(core::has_finalizer(announced));
  CHECK(core::was_ours(announced));
  CHECK(announced.status.ingress.empty());

  CHECK(told(served) == kServing);
  REQUIRE(served.status.ingress.size() == 1);
  const auto& ingress = served.status.ingress[0];
  CHECK(ingress.ip_mode == (test::kube_keeps_ip_mode() ? "Proxy" : ""));
  CHECK(ingress.ports == std::vector<core::PortStatus>{{80, core::Protocol::Tcp, ""}});
  stage.await_events("web", {"Provisioning", "Serving"});
  CHECK(stage.get("web") == served);  // and that was all
}

TEST_CASE("ports come and go in place") {
  Stage stage;
  const OneAnswer one(stage.gateway(), "one");
  const OneAnswer two(stage.gateway(), "two");
  const OneAnswer three(stage.gateway(), "three");
  const it::Echo echo(stage.gateway());
  stage.put_endpoints("web", {{"one", one.target().port},
                              {"two", two.target().port},
                              {"three", three.target().port},
                              {"echo", echo.port()}});
  stage.start();
  stage.create("web", R"({"type":"LoadBalancer","ports":[{"name":"one","port":80},)"
                      R"({"name":"two","port":81},{"name":"echo","port":7}]})");
  const auto before = stage.await_serving("web");
  CHECK(http_get(it::target_of(before, 80)) == "one");
  CHECK(http_get(it::target_of(before, 81)) == "two");
  it::Connection lasting(it::target_of(before, 7));
  CHECK(lasting.say("are you there?") == "are you there?");
  const auto holder = stage.proxy_of(before);
  REQUIRE(holder);

  const auto seen = stage.diary().count("web");
  stage.patch("web", R"({"spec":{"ports":[{"name":"one","port":80},{"name":"three","port":82},)"
                     R"({"name":"echo","port":7}]}})");
  const auto after = stage.await("web", [&](const auto& s) {
    return it::is_serving(s) && s.status.ingress != before.status.ingress;
  });
  CHECK(http_get(it::target_of(after, 82)) == "three");
  CHECK(http_get(it::target_of(after, 80)) == "one");
  CHECK(http_get(it::target_of(after, 81)) != "two");
  CHECK(lasting.say("and now?") == "and now?");
  CHECK(after.status.ingress[0].ip == before.status.ingress[0].ip);
  CHECK(after.status.ingress[0].ports ==
        std::vector<core::PortStatus>{{80, core::Protocol::Tcp, ""},
                                      {82, core::Protocol::Tcp, ""},
                                      {7, core::Protocol::Tcp, ""}});
  CHECK(stage.proxy_of(after)->id == holder->id);

  const auto pages = stage.diary().pages("web", seen);  // the edit, then our two writes
  REQUIRE(pages.size() == 3);
  CHECK(told(pages[1]) == kUpdating);
  CHECK(pages[1].status.ingress == before.status.ingress);
  CHECK(time_of(pages[1], core::kProvisioningCondition) >
        time_of(before, core::kProvisioningCondition));
  CHECK(time_of(pages[1], core::kServingCondition) == time_of(before, core::kServingCondition));
  CHECK(told(pages[2]) == kServing);
  CHECK(time_of(pages[2], core::kServingCondition) > time_of(before, core::kServingCondition));
  stage.await_events("web", {"Updated"});
}

TEST_CASE("endpoints and labels change without a word") {
  Stage stage;
  const OneAnswer first(stage.gateway(), "first");
  const OneAnswer second(stage.gateway(), "second");
  stage.put_endpoints("web", {{"", first.target().port}});
  stage.start();
  stage.create_web("web");
  const auto served = stage.await_serving("web");
  const auto target = it::target_of(served);
  CHECK(http_get(target) == "first");

  stage.put_endpoints("web", {{"", second.target().port}});
  stage.until("traffic moves", [&] { return http_get(target) == "second"; });
  stage.put_endpoints("web", {});
  stage.until("nobody is left", [&] { return http_get(target) == "closed"; });
  stage.put_endpoints("web", {{"", first.target().port}});
  stage.until("traffic returns", [&] { return http_get(target) == "first"; });
  stage.serve_another();
  CHECK(stage.version_of("web") == served.resource_version);

  const auto labelled = stage.patch("web", R"({"metadata":{"labels":{"colour":"blue"}}})");
  stage.serve_another();
  CHECK(stage.version_of("web") == labelled.resource_version);
}

TEST_CASE("a deleted Service goes once its proxy is gone") {
  Stage stage;
  const OneAnswer backend(stage.gateway(), "hello");
  stage.put_endpoints("web", {{"", backend.target().port}});
  stage.start();
  stage.create_web("web");
  const auto served = stage.await_serving("web");
  const auto holder = stage.proxy_of(served);
  REQUIRE(holder);
  CHECK(stage.volume_exists(holder->volume));

  stage.remove("web");
  REQUIRE(stage.diary().wait_gone("web", it::kPatience));
  CHECK_FALSE(stage.proxy_of(served));
  stage.until("its volume goes, too", [&] { return !stage.volume_exists(holder->volume); });
  CHECK(http_get(it::target_of(served), std::chrono::seconds(1)) != "hello");
}

TEST_CASE("a Service that changes its type gets back all we put on it, and nothing else") {
  Stage stage;
  const OneAnswer backend(stage.gateway(), "hello");
  stage.put_endpoints("web", {{"", backend.target().port}});
  stage.start();
  stage.create_web("web");
  const auto served = stage.await_serving("web");
  stage.rest().patch(
      fmt::format("/api/v1/namespaces/{}/services/web/status?fieldManager=somebody", stage.ns()),
      "apply",
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"status":{"conditions":[)"
      R"({"type":"example.com/Theirs","status":"True","reason":"Reason","message":"",)"
      R"("lastTransitionTime":"2026-01-01T00:00:00Z"}]}})");

  const auto seen = stage.diary().count("web");
  stage.patch("web", R"({"spec":{"type":"ClusterIP"}})");
  const auto after = stage.await(
      "web", [](const auto& s) { return !core::was_ours(s); }, seen);
  CHECK_FALSE(core::has_finalizer(after));
  CHECK(after.status.ingress.empty());
  REQUIRE(after.status.conditions.size() == 1);
  CHECK(after.status.conditions[0].type == "example.com/Theirs");
  CHECK_FALSE(stage.proxy_of(served));

  stage.serve_another();
  CHECK(stage.version_of("web") == after.resource_version);
}
