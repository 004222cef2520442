// What kindlb relies on, asked of a real API server.

#include "kindlb/kube/api.hpp"
#include "kindlb/kube/config.hpp"
#include "kube/cluster.hpp"
#include "kube/concurrent_writer.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

using namespace kindlb;
using core::ConditionStatus;
using core::ErrorKind;
using nlohmann::json;
using test::kube_server;
using test::Namespace;

namespace {
core::Timestamp noon() {
  using namespace std::chrono;
  return sys_days{year{2026} / 1 / 2} + hours{12};
}

core::Condition condition(const char* type, ConditionStatus status) {
  return {type, status, "Because", "a test wants it", noon()};
}

core::StatusApply an_apply(const core::ServiceKey& key, const std::string& uid) {
  return {.key = key,
          .uid = uid,
          .finalizer = true,
          .observed = "h1",
          .ingress = {{.ip = "172.18.255.250",
                       .hostname = "",
                       .ip_mode = "Proxy",
                       .ports = {{80, core::Protocol::Tcp, ""}}}},
          .conditions = {condition(core::kServingCondition, ConditionStatus::True),
                         condition(core::kProvisioningCondition, ConditionStatus::False)}};
}

/// What another controller leaves on a Service, through /status like us.
void another_manager_writes(const Namespace& space, const std::string& name) {
  space.rest.patch(
      space.services() + "/" + name + "/status?fieldManager=other", "strategic",
      R"({"metadata":{"annotations":{"other/note":"x"},"finalizers":["other.io/keep"]},)"
      R"("status":{"conditions":[{"type":"Other","status":"True","reason":"R","message":"",)"
      R"("lastTransitionTime":"2026-01-01T00:00:00Z"}]}})");
}

std::vector<std::string> types_of(const json& conditions) {
  std::vector<std::string> types;
  for (const auto& each : conditions) types.push_back(each["type"]);
  return types;
}
}  // namespace

TEST_CASE("certificates and tokens open the door, nothing else does") {
  for (const auto& text : {kube_server().kubeconfig(), kube_server().token_kubeconfig()}) {
    const auto access = kube::parse_kubeconfig(text, "", "");
    REQUIRE_MESSAGE(access.ok(), access.error().text());
    auto client = http::make_client(access->endpoint);
    REQUIRE_MESSAGE(client.ok(), client.error().text());
    const auto version = kube::make_api(std::move(*client), "kind")->server_version();
    REQUIRE_MESSAGE(version.ok(), version.error().text());
    CHECK(version->starts_with("v1."));
  }
  auto access = kube::parse_kubeconfig(kube_server().token_kubeconfig(), "", "");
  access->endpoint.bearer_token = "wrong";
  auto client = http::make_client(access->endpoint);
  const auto refused = kube::make_api(std::move(*client), "kind")->server_version();
  CHECK(refused.error().kind == ErrorKind::Denied);
}

TEST_CASE("a server that shows another certificate is not spoken to") {
  auto access = kube::parse_kubeconfig(kube_server().token_kubeconfig(), "", "");
  access->endpoint.tls.server_name = "elsewhere";
  auto client = http::make_client(access->endpoint);
  CHECK_FALSE(kube::make_api(std::move(*client), "kind")->server_version().ok());
}

TEST_CASE("the cluster's uid is that of its oldest namespace") {
  const Namespace space("uid");
  REQUIRE(test::eventually([&] { return space.api->cluster_uid().ok(); }));
  CHECK(*space.api->cluster_uid() ==
        space.get("/api/v1/namespaces/kube-system")["metadata"]["uid"]);
}

TEST_CASE("one apply writes finalizer, annotation, conditions and ingress") {
  const Namespace space("apply");
  const auto uid = space.create_service("web");
  const auto applied = space.api->apply_status(an_apply(space.key("web"), uid));
  REQUIRE_MESSAGE(applied.ok(), applied.error().text());

  CHECK(applied->finalizers == std::vector<std::string>{core::kFinalizer});
  CHECK(applied->annotations.at(core::kObservedAnnotation) == "h1");
  CHECK(applied->status.ingress == test::as_kept(an_apply({}, "").ingress));
  CHECK(applied->status.conditions == an_apply({}, "").conditions);
  CHECK(applied->resource_version == space.version("web"));

  SUBCASE("again: nothing is written") {
    const auto again = space.api->apply_status(an_apply(space.key("web"), uid));
    REQUIRE(again.ok());
    CHECK(again->resource_version == applied->resource_version);
  }
  SUBCASE("a condition left out is taken away, an empty ingress clears, and that is stable") {
    auto less = an_apply(space.key("web"), uid);
    less.conditions.pop_back();
    less.ingress.clear();
    const auto cleared = space.api->apply_status(less);
    REQUIRE(cleared.ok());
    CHECK(cleared->status.conditions.size() == 1);
    CHECK(cleared->status.ingress.empty());
    CHECK(space.api->apply_status(less)->resource_version == cleared->resource_version);
  }
  SUBCASE("a port's error is kept") {
    auto with_error = an_apply(space.key("web"), uid);
    with_error.ingress[0].ports[0].error = "kindlb.dev/PortsNotSupported";
    const auto written = space.api->apply_status(with_error);
    REQUIRE(written.ok());
    CHECK(written->status.ingress == test::as_kept(with_error.ingress));
  }
}

TEST_CASE("what others own stays, what we share is cleared") {
  const Namespace space("shared");
  const auto uid = space.create_service("web");
  another_manager_writes(space, "web");
  space.rest.patch(space.services() + "/web/status?fieldManager=other", "merge",
                   R"({"status":{"loadBalancer":{"ingress":[{"ip":"10.9.9.9"}]}}})");
  auto apply = an_apply(space.key("web"), uid);
  apply.ingress.clear();
  const auto applied = space.api->apply_status(apply);
  REQUIRE_MESSAGE(applied.ok(), applied.error().text());
  CHECK(applied->annotations.at("other/note") == "x");
  CHECK(applied->finalizers == std::vector<std::string>{"other.io/keep", core::kFinalizer});
  CHECK(types_of(space.service("web")["status"]["conditions"]).size() == 3);
  CHECK(applied->status.ingress.empty());
}

TEST_CASE("a namesake is never written to, and nothing is created") {
  const Namespace space("namesake");
  space.create_service("web");
  const auto before = space.version("web");
  const std::string old_uid = "00000000-0000-0000-0000-000000000000";
  CHECK(space.api->apply_status(an_apply(space.key("web"), old_uid)).error().kind ==
        ErrorKind::NotFound);
  CHECK(space.version("web") == before);
  CHECK(space.api->apply_status(an_apply(space.key("none"), old_uid)).error().kind ==
        ErrorKind::NotFound);
  CHECK(space.rest.status(space.services() + "/none") == 404);
  CHECK(space.api->apply_status(an_apply({"kind", "no-such-ns", "web"}, old_uid)).error().kind ==
        ErrorKind::NotFound);
}

TEST_CASE("content the server refuses is Invalid, with the server's message") {
  const Namespace space("invalid");
  auto apply = an_apply(space.key("web"), space.create_service("web"));
  apply.ingress[0].ip = "no address";
  const auto refused = space.api->apply_status(apply);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().kind == ErrorKind::Invalid);
  CHECK(refused.error().detail.find("no address") != std::string::npos);
}

TEST_CASE("releasing a deleted Service lets it go") {
  const Namespace space("deleted");
  const auto uid = space.create_service("web");
  REQUIRE(space.api->apply_status(an_apply(space.key("web"), uid)).ok());
  SUBCASE("ours was the last finalizer") {
    space.rest.remove(space.services() + "/web");
    REQUIRE(space.rest.status(space.services() + "/web") == 200);
    CHECK(space.api->release({space.key("web"), uid, false}).ok());
    CHECK(space.rest.status(space.services() + "/web") == 404);
    CHECK(space.api->release({space.key("web"), uid, false}).ok());
  }
  SUBCASE("others' finalizers and all status stay") {
    another_manager_writes(space, "web");
    REQUIRE(space.api->apply_status(an_apply(space.key("web"), uid)).ok());
    space.rest.remove(space.services() + "/web");
    CHECK(space.api->release({space.key("web"), uid, false}).ok());
    const auto left = space.service("web");
    CHECK(left["metadata"]["finalizers"] == json({"other.io/keep"}));
    CHECK(left["metadata"]["annotations"].contains(core::kObservedAnnotation));
    CHECK(left["status"]["loadBalancer"].contains("ingress"));
  }
  SUBCASE("a namesake keeps its finalizer") {
    CHECK(space.api->release({space.key("web"), "another", true}).ok());
    CHECK(space.service("web")["metadata"]["finalizers"] == json({core::kFinalizer}));
  }
}

TEST_CASE("releasing after a change of type takes exactly what is ours") {
  const Namespace space("retyped");
  const auto uid = space.create_service("web");
  another_manager_writes(space, "web");
  auto apply = an_apply(space.key("web"), uid);
  apply.conditions.push_back(condition(core::kDegradedCondition, ConditionStatus::True));
  REQUIRE(space.api->apply_status(apply).ok());
  // Another manager co-owns the ingress by now: an apply alone could not clear it.
  space.rest.patch(space.services() + "/web/status?fieldManager=other", "merge",
                   R"({"status":{"loadBalancer":{"ingress":[{"ip":"172.18.255.250"}]}}})");
  space.rest.patch(space.services() + "/web", "merge", R"({"spec":{"type":"ClusterIP"}})");
  REQUIRE(space.api->release({space.key("web"), uid, true}).ok());
  const auto left = space.service("web");
  CHECK(left["metadata"]["finalizers"] == json({"other.io/keep"}));
  CHECK(left["metadata"]["annotations"] == json({{"other/note", "x"}}));
  CHECK(left["status"]["loadBalancer"] == json::object());
  CHECK(types_of(left["status"]["conditions"]) == std::vector<std::string>{"Other"});
  SUBCASE("again: nothing is written") {
    REQUIRE(space.api->release({space.key("web"), uid, true}).ok());
    CHECK(space.version("web") == left["metadata"]["resourceVersion"]);
  }
}

TEST_CASE("a release that loses a race reads again") {
  const Namespace space("race");
  const auto uid = space.create_service("web");
  REQUIRE(space.api->apply_status(an_apply(space.key("web"), uid)).ok());
  SUBCASE("against a change") {
    const auto writer = std::make_shared<test::ConcurrentWriter>(space.client, [&] {
      space.rest.patch(space.services() + "/web", "merge",
                       R"({"metadata":{"finalizers":["other.io/first",)"
                       R"("service.kubernetes.io/load-balancer-cleanup"]}})");
    });
    CHECK(kube::make_api(writer, "kind")->release({space.key("web"), uid, true}).ok());
    CHECK(writer->patches == 2);
    CHECK(space.service("web")["metadata"]["finalizers"] == json({"other.io/first"}));
  }
  SUBCASE("against a namesake") {
    const auto writer = std::make_shared<test::ConcurrentWriter>(space.client, [&] {
      space.rest.remove(space.services() + "/web");
      space.rest.patch(space.services() + "/web", "merge", R"({"metadata":{"finalizers":null}})");
      space.create_service("web");
    });
    CHECK(kube::make_api(writer, "kind")->release({space.key("web"), uid, true}).ok());
    CHECK(writer->patches == 1);
  }
}

TEST_CASE("events are shown with the Service") {
  const Namespace space("events");
  core::Service about;
  about.key = space.key("web");
  about.uid = space.create_service("web");
  about.resource_version = space.version("web");
  const auto emitted =
      space.api->emit(about, {core::EventType::Warning, "Unsupported", "SCTP is not supported"});
  REQUIRE_MESSAGE(emitted.ok(), emitted.error().text());
  const auto events = space.get("/api/v1/namespaces/" + space.ns +
                                "/events?fieldSelector=involvedObject.uid%3D" + about.uid)["items"];
  REQUIRE(events.size() == 1);
  CHECK(events[0]["reason"] == "Unsupported");
  CHECK(events[0]["message"] == "SCTP is not supported");
  CHECK(events[0]["type"] == "Warning");
  CHECK(events[0]["source"]["component"] == "kindlb");
  CHECK(events[0]["count"] == 1);

  SUBCASE("emitted again, it is counted rather than repeated") {
    for (int i = 0; i < 2; ++i)
      REQUIRE(
          space.api->emit(about, {core::EventType::Warning, "Unsupported", "SCTP is not supported"})
              .ok());
    const auto again = space.get("/api/v1/namespaces/" + space.ns + "/events")["items"];
    REQUIRE(again.size() == 1);
    CHECK(again[0]["count"] == 3);
  }
  SUBCASE("a namespace that is going away takes none, which is fine") {
    space.rest.remove("/api/v1/namespaces/" + space.ns);
    CHECK(space.api->emit(about, {core::EventType::Normal, "Deleted", "gone"}).ok());
  }
  SUBCASE("a namespace that never was is an error") {
    about.key.ns = "no-such-ns";
    CHECK(space.api->emit(about, {core::EventType::Normal, "Deleted", "gone"}).error().kind ==
          ErrorKind::NotFound);
  }
}

TEST_CASE("kubectl can wait for our condition") {
  const auto kubectl = test::find_kube_binary("kubectl");
  REQUIRE_MESSAGE(!kubectl.empty(), "kubectl is missing: run scripts/setup-kube.sh");
  const Namespace space("kubectl");
  const auto uid = space.create_service("web");
  REQUIRE(space.api->apply_status(an_apply(space.key("web"), uid)).ok());
  const auto command = fmt::format(
      "'{}' --kubeconfig '{}' -n {} wait --timeout=10s --for=condition=LoadBalancerServing "
      "service/web >/dev/null",
      kubectl, kube_server().kubeconfig_path(), space.ns);
  CHECK(std::system(command.c_str()) == 0);  // NOLINT(concurrency-mt-unsafe)
}
