#include "encode.hpp"

#include "kube/fixture.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

using namespace kindlb;
using test::fixture;

namespace {
core::Timestamp noon() {
  using namespace std::chrono;
  return sys_days{year{2026} / 1 / 2} + hours{12};
}

core::StatusApply an_apply() {
  return {.key = {"kind", "default", "web"},
          .uid = "u-1",
          .finalizer = true,
          .observed = "h1",
          .ingress = {{.ip = "172.18.255.250",
                       .hostname = "",
                       .ip_mode = "Proxy",
                       .ports = {{80, core::Protocol::Tcp, ""},
                                 {53, core::Protocol::Udp, "kindlb.dev/PortsNotSupported"}}}},
          .conditions = {
              {core::kServingCondition, core::ConditionStatus::True, "Serving", "yes", noon()}}};
}

const kube::ReleasePatch kReleaseWeb{.key = {"kind", "default", "web"},
                                     .uid = "6f328e2b-9f8d-47ea-b5fe-2e0111308832",
                                     .clear_status = false};

/// A Service with these finalizers and conditions, as JSON lists.
std::string service_json(const std::string& finalizers, const std::string& conditions) {
  return R"({"metadata":{"name":"web","namespace":"default","uid":"u","resourceVersion":"5",)"
         R"("finalizers":)" +
         finalizers + R"(},"status":{"loadBalancer":{},"conditions":)" + conditions + "}}";
}

std::string plan(const std::string& json, bool clear) {
  const auto step = kube::plan_release(
      json, {.key = {"kind", "default", "web"}, .uid = "u", .clear_status = clear});
  return step ? step->patch : step.error().text();
}

const std::string kTests = R"([{"op":"test","path":"/metadata/uid","value":"u"},)"
                           R"({"op":"test","path":"/metadata/resourceVersion","value":"5"},)";
}  // namespace

TEST_CASE("an apply carries all we own, in a fixed order") {
  CHECK(kube::encode_apply(an_apply()) ==
        R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"default",)"
        R"("uid":"u-1","annotations":{"kindlb.dev/observed":"h1"},)"
        R"("finalizers":["service.kubernetes.io/load-balancer-cleanup"]},)"
        R"("status":{"loadBalancer":{"ingress":[{"ip":"172.18.255.250","ipMode":"Proxy",)"
        R"("ports":[{"port":80,"protocol":"TCP"},)"
        R"({"port":53,"protocol":"UDP","error":"kindlb.dev/PortsNotSupported"}]}]},)"
        R"("conditions":[{"type":"LoadBalancerServing","status":"True",)"
        R"("lastTransitionTime":"2026-01-02T12:00:00Z","reason":"Serving","message":"yes"}]}})");
}

TEST_CASE("what an apply leaves out, and what it never does") {
  auto apply = an_apply();
  apply.ingress.clear();
  apply.conditions.clear();
  apply.finalizer = false;
  CHECK(kube::encode_apply(apply) ==
        R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"default",)"
        R"("uid":"u-1","annotations":{"kindlb.dev/observed":"h1"}},)"
        R"("status":{"loadBalancer":{"ingress":[]},"conditions":[]}})");
}

TEST_CASE("text that is not UTF-8 is mended, not thrown at us") {
  auto apply = an_apply();
  apply.conditions[0].message = "bad \xFF\xC3 byte \"quoted\"";
  const auto json = nlohmann::json::parse(kube::encode_apply(apply), nullptr, false);
  REQUIRE_FALSE(json.is_discarded());
  CHECK(json["status"]["conditions"][0]["message"] ==
        "bad \xEF\xBF\xBD\xEF\xBF\xBD byte \"quoted\"");
}

TEST_CASE("an Event as kubectl describe expects it") {
  core::Service about;
  about.key = {"kind", "default", "web"};
  about.uid = "u-1";
  about.resource_version = "42";
  const core::EventNote note{core::EventType::Warning, "Unsupported", "no SCTP"};
  const auto name = kube::event_name(about, note);
  CHECK(
      kube::encode_event(about, note, noon()) ==
      R"({"apiVersion":"v1","kind":"Event","metadata":{"name":")" + name +
          R"(","namespace":"default"},)"
          R"("involvedObject":{"apiVersion":"v1","kind":"Service","namespace":"default","name":"web",)"
          R"("uid":"u-1","resourceVersion":"42"},"type":"Warning","reason":"Unsupported",)"
          R"("message":"no SCTP","source":{"component":"kindlb"},"reportingComponent":"kindlb",)"
          R"("firstTimestamp":"2026-01-02T12:00:00Z","lastTimestamp":"2026-01-02T12:00:00Z","count":1})");
}

TEST_CASE("the same event about the same Service has the same name, another event another") {
  core::Service about;
  about.key = {"kind", "default", "web"};
  about.uid = "u-1";
  const core::EventNote note{core::EventType::Warning, "Unsupported", "no SCTP"};
  const auto name = kube::event_name(about, note);
  CHECK(name.starts_with("web."));
  CHECK(name == kube::event_name(about, note));
  for (const auto& other : {core::EventNote{core::EventType::Normal, "Unsupported", "no SCTP"},
                            core::EventNote{core::EventType::Warning, "Degraded", "no SCTP"},
                            core::EventNote{core::EventType::Warning, "Unsupported", "no UDP"}})
    CHECK(name != kube::event_name(about, other));
  about.uid = "u-2";
  CHECK(name != kube::event_name(about, note));
  CHECK(kube::encode_event_count(3, noon()) ==
        R"({"count":3,"lastTimestamp":"2026-01-02T12:00:00Z"})");
}

TEST_CASE("messages are truncated between characters") {
  CHECK(kube::truncated("abc", 3) == "abc");
  CHECK(kube::truncated("abcd", 3) == "abc");
  CHECK(kube::truncated("ab\xC3\xA9", 3) == "ab");
  CHECK(kube::truncated("\x80\x80\x80", 2).empty());
}

TEST_CASE("releasing a recorded Service") {
  SUBCASE("deleted: only the finalizer") {
    const auto step = kube::plan_release(fixture("service.json"), kReleaseWeb);
    REQUIRE_MESSAGE(step.ok(), step.error().text());
    CHECK(step->resource_version == "531");
    CHECK(step->patch ==
          R"([{"op":"test","path":"/metadata/uid","value":"6f328e2b-9f8d-47ea-b5fe-2e0111308832"},)"
          R"({"op":"test","path":"/metadata/resourceVersion","value":"531"},)"
          R"({"op":"remove","path":"/metadata/finalizers/0"}])");
  }
  SUBCASE("type changed: everything of ours") {
    auto patch = kReleaseWeb;
    patch.clear_status = true;
    const auto step = kube::plan_release(fixture("service.json"), patch);
    REQUIRE(step.ok());
    CHECK(step->patch.ends_with(
        R"({"op":"remove","path":"/metadata/finalizers/0"},)"
        R"({"op":"remove","path":"/metadata/annotations/kindlb.dev~1observed"},)"
        R"({"op":"add","path":"/status/loadBalancer","value":{}},)"
        R"({"op":"remove","path":"/status/conditions/1"},)"
        R"({"op":"remove","path":"/status/conditions/0"}])"));
  }
  SUBCASE("a namesake is left alone") {
    auto patch = kReleaseWeb;
    patch.uid = "another";
    const auto step = kube::plan_release(fixture("service.json"), patch);
    REQUIRE(step.ok());
    CHECK(step->gone);
    CHECK(step->patch.empty());
  }
}

TEST_CASE("a release takes exactly what is ours") {
  const std::string ours = R"("service.kubernetes.io/load-balancer-cleanup")";
  CHECK(plan(service_json(R"(["a",)" + ours + R"(,"b"])", "[]"), false) ==
        kTests + R"({"op":"remove","path":"/metadata/finalizers/1"}])");
  CHECK(plan(service_json(R"(["a","b"])", R"([{"type":"Foo"},{"type":"LoadBalancerServing"},
             {"type":"Bar"},{"type":"LoadBalancerDegraded"}])"),
             true) == kTests + R"({"op":"remove","path":"/status/conditions/3"},)"
                               R"({"op":"remove","path":"/status/conditions/1"}])");
  CHECK(plan(service_json(R"(["a"])", R"([{"type":"Foo"}])"), true).empty());
  CHECK(plan(service_json("[]", R"([{"type":"LoadBalancerServing"}])"), false).empty());
  CHECK(plan("{", true).find("(Protocol)") != std::string::npos);
}
