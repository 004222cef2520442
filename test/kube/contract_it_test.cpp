// The tables of docs/contract.md against a real API server: every write that core plans for every
// row, what others own beside it, and Services that are replaced by a namesake.

#include "core/properties/behaviour_rows.hpp"
#include "kindlb/kube/api.hpp"
#include "kube/cluster.hpp"
#include "kube/concurrent_writer.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <future>
#include <string>
#include <utility>
#include <vector>

using namespace kindlb;
using core::ErrorKind;
using nlohmann::json;
using test::kube_server;
using test::Life;
using test::Namespace;

namespace {

/// The life of a row, for a Service that is really there.
Life live(const test::BehaviourRow& row, const core::ServiceKey& key, const std::string& uid) {
  auto service = row.asks;
  service.key = key;
  service.uid = uid;
  Life life(service);
  row.live(life);
  return life;
}

/// The last write of a Service that is served and degraded.
core::StatusApply a_degraded_write(const core::ServiceKey& key, const std::string& uid) {
  test::BehaviourRow row;
  row.asks = test::a_service().with_port(80).with_port(9, core::Protocol::Sctp);
  row.live = [](Life& life) { life.settle(); };
  return live(row, key, uid).writes.back();
}

void check_reads_back(const core::Service& stored, const core::StatusApply& write) {
  CHECK(stored.uid == write.uid);
  CHECK(core::has_finalizer(stored) == write.finalizer);
  CHECK(stored.annotations.at(core::kObservedAnnotation) == write.observed);
  CHECK(stored.status.ingress == test::as_kept(write.ingress));
  CHECK(stored.status.conditions.size() == write.conditions.size());
  for (const auto& condition : write.conditions) {
    const auto* found = core::find_condition(stored.status.conditions, condition.type);
    REQUIRE(found != nullptr);
    CHECK(*found == condition);
  }
}

constexpr const char* kOthersCondition = "LoadBalancerPortsError";

/// What another provider and a user leave on a Service.
void others_write(const Namespace& space, const std::string& name) {
  space.rest.patch(space.services() + "/" + name + "/status?fieldManager=cloud", "strategic",
                   R"({"metadata":{"annotations":{"example.com/cloud":"eu"}},)"
                   R"("status":{"conditions":[{"type":"LoadBalancerPortsError","status":"True",)"
                   R"("reason":"Old","message":"left by another",)"
                   R"("lastTransitionTime":"2026-01-01T00:00:00Z"}]}})");
  space.rest.patch(space.services() + "/" + name + "?fieldManager=user", "merge",
                   R"({"metadata":{"annotations":{"kindlb.dev/datapath":"direct"},)"
                   R"("labels":{"app":"web"},"finalizers":["example.com/keep"]}})");
}

void check_others_kept(const json& service) {
  CHECK(service["metadata"]["annotations"]["example.com/cloud"] == "eu");
  CHECK(service["metadata"]["annotations"]["kindlb.dev/datapath"] == "direct");
  CHECK(service["metadata"]["labels"]["app"] == "web");
  CHECK(service["metadata"]["finalizers"][0] == "example.com/keep");
  bool kept = false;
  for (const auto& condition : service["status"]["conditions"])
    kept = kept || (condition["type"] == kOthersCondition && condition["reason"] == "Old" &&
                    condition["lastTransitionTime"] == "2026-01-01T00:00:00Z");
  CHECK(kept);
}

std::vector<std::string> our_conditions(const json& service) {
  std::vector<std::string> out;
  for (const auto& condition : service["status"]["conditions"])
    if (condition["type"] != kOthersCondition) out.push_back(condition["type"]);
  return out;
}

/// Deletes and creates again, under the same name; gives the new uid.
std::string replace(const Namespace& space, const std::string& name) {
  const auto path = space.services() + "/" + name;
  space.rest.remove(path);
  if (space.rest.status(path) == 200)
    space.rest.patch(path, "merge", R"({"metadata":{"finalizers":null}})");
  REQUIRE(space.rest.status(path) == 404);
  return space.create_service(name);
}

int kubectl_wait(const Namespace& space, const std::string& what, int seconds) {
  const auto kubectl = test::find_kube_binary("kubectl");
  REQUIRE_MESSAGE(!kubectl.empty(), "kubectl is missing: run scripts/setup-kube.sh");
  const auto command = fmt::format(
      "'{}' --kubeconfig '{}' -n {} wait --timeout={}s --for={} svc/web >/dev/null 2>&1", kubectl,
      kube_server().kubeconfig_path(), space.ns, seconds, what);
  return std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace

TEST_CASE("every write of every row of the contract is taken, and read back as it was meant") {
  const Namespace space("rows");
  int number = 0;
  for (const auto& row : test::behaviour_rows()) {
    CAPTURE(row.name);
    const auto name = "row-" + std::to_string(++number);
    const auto key = space.key(name);
    const auto life = live(row, key, space.create_service(name));
    REQUIRE_FALSE(life.writes.empty());
    std::string version;
    for (const auto& write : life.writes) {
      const auto stored = space.api->apply_status(write);
      REQUIRE_MESSAGE(stored.ok(), stored.error().text());
      check_reads_back(*stored, write);
      version = stored->resource_version;
    }
    const auto again = space.api->apply_status(life.writes.back());
    REQUIRE_MESSAGE(again.ok(), again.error().text());
    CHECK(again->resource_version == version);
  }
}

TEST_CASE("conditions, annotations and finalizers of others survive all of ours") {
  const Namespace space("others");
  const auto uid = space.create_service("web");
  others_write(space, "web");
  const auto key = space.key("web");
  for (const auto& row : test::condition_rows())
    for (const auto& write : live(row, key, uid).writes) {
      CAPTURE(row.name);
      const auto stored = space.api->apply_status(write);
      REQUIRE_MESSAGE(stored.ok(), stored.error().text());
      CHECK(our_conditions(space.service("web")).size() == write.conditions.size());
    }
  check_others_kept(space.service("web"));
  REQUIRE(space.api->apply_status(a_degraded_write(key, uid)).ok());

  SUBCASE("released after a change of type") {
    space.rest.patch(space.services() + "/web", "merge", R"({"spec":{"type":"ClusterIP"}})");
    REQUIRE(space.api->release({key, uid, true}).ok());
    const auto left = space.service("web");
    check_others_kept(left);
    CHECK(our_conditions(left).empty());
    CHECK(left["metadata"]["finalizers"].size() == 1);
    CHECK_FALSE(left["metadata"]["annotations"].contains(core::kObservedAnnotation));
    CHECK(left["status"]["loadBalancer"] == json::object());
  }
  SUBCASE("released after a deletion") {
    space.rest.remove(space.services() + "/web");
    REQUIRE(space.api->release({key, uid, false}).ok());
    const auto left = space.service("web");
    check_others_kept(left);
    CHECK(left["metadata"]["finalizers"].size() == 1);
  }
}

TEST_CASE("a Service that was made anew under the same name gets nothing of the former one") {
  const Namespace space("anew");
  const auto uid = space.create_service("web");
  const auto key = space.key("web");
  const auto write = a_degraded_write(key, uid);
  SUBCASE("replaced before the first write") {}
  SUBCASE("replaced after some") {
    REQUIRE(space.api->apply_status(write).ok());
  }
  std::string fresh;
  const auto writer = std::make_shared<test::ConcurrentWriter>(
      space.client, [&] { fresh = replace(space, "web"); });
  const auto api = kube::make_api(writer, "kind");
  const auto overtaken = api->apply_status(write);
  REQUIRE_FALSE(overtaken.ok());
  CHECK(overtaken.error().kind == ErrorKind::NotFound);
  // And so for those that come too late.
  CHECK(api->apply_status(write).error().kind == ErrorKind::NotFound);
  CHECK(api->release({key, uid, true}).ok());
  CHECK(api->release({key, uid, false}).ok());

  const auto namesake = space.service("web");
  CHECK(namesake["metadata"]["uid"] == fresh);
  CHECK_FALSE(namesake["metadata"].contains("finalizers"));
  CHECK_FALSE(namesake["metadata"].contains("annotations"));
  CHECK(namesake["status"] == json({{"loadBalancer", json::object()}}));
  REQUIRE(space.api->apply_status(a_degraded_write(key, fresh)).ok());
}

TEST_CASE("kubectl waits for what is not yet, and sees it come") {
  const Namespace space("wait");
  const auto uid = space.create_service("web");
  test::BehaviourRow row;
  row.asks = test::a_service().with_port(80);
  row.live = [](Life& life) { life.settle(); };
  const auto life = live(row, space.key("web"), uid);
  REQUIRE(life.writes.size() == 2);
  REQUIRE(space.api->apply_status(life.writes[0]).ok());
  CHECK(kubectl_wait(space, "condition=LoadBalancerServing", 1) != 0);
  CHECK(kubectl_wait(space, "condition=LoadBalancerServing=False", 10) == 0);
  CHECK(kubectl_wait(space, "condition=LoadBalancerProvisioning", 10) == 0);
  auto waiting = std::async(
      std::launch::async, [&] { return kubectl_wait(space, "condition=LoadBalancerServing", 60); });
  REQUIRE(space.api->apply_status(life.writes[1]).ok());
  CHECK(waiting.get() == 0);
  CHECK(kubectl_wait(space, "condition=LoadBalancerProvisioning=False", 10) == 0);
  CHECK(kubectl_wait(space, "jsonpath={.status.loadBalancer.ingress[0].ip}=172.18.255.254", 10) ==
        0);
}

TEST_CASE("a namespace that goes away takes no Events, but lets its Services go") {
  const Namespace space("leaving");
  const auto uid = space.create_service("web");
  const auto write = a_degraded_write(space.key("web"), uid);
  const auto stored = space.api->apply_status(write);
  REQUIRE(stored.ok());
  space.rest.remove("/api/v1/namespaces/" + space.ns);
  CHECK(space.api->emit(*stored, {core::EventType::Normal, "Deleted", "The proxy is gone."}).ok());
  // Status and release still work: nothing new is created by them.
  CHECK(space.api->apply_status(write).ok());
  space.rest.remove(space.services() + "/web");
  CHECK(space.api->release({space.key("web"), uid, false}).ok());
  CHECK(space.rest.status(space.services() + "/web") == 404);
}
