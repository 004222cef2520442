#include "service/endpoint_slice_controller.hpp"

#include <doctest/doctest.h>

using namespace kindlb::apiserver;

namespace {
struct KeeperRig {
  KeeperRig()
      : api({.gates = {}, .service_ranges = {*kindlb::core::Cidr::parse("10.96.0.0/16")}}) {}

  void service(const std::string& name, const char* selector) {
    auto json = Json::parse(R"({"metadata":{},"spec":{"ports":[{"port":80,"targetPort":8080}]}})");
    json["metadata"]["name"] = name;
    json["spec"]["selector"] = Json::parse(selector);
    REQUIRE(static_cast<bool>(api.create(services(), "default", json, {})));
  }
  void pod(const std::string& name, const char* ip) {
    auto json = Json::parse(R"({"metadata":{"labels":{"app":"echo"}},"spec":{}})");
    json["metadata"]["name"] = name;
    REQUIRE(static_cast<bool>(api.create(pods(), "default", json, {})));
    json["status"] = Json::parse(R"({"conditions":[{"type":"Ready","status":"True"}]})");
    json["status"]["podIP"] = ip;
    REQUIRE(
        static_cast<bool>(api.update(pods(), {"default", name}, json, {.subresource = "status"})));
  }
  /// The addresses in the Service's slice; "none": there is no slice.
  std::string addresses(const std::string& service) {
    const auto slice = api.store().get(endpoint_slices(), {"default", service + "-ipv4"});
    if (slice == nullptr) return "none";
    std::string out;
    for (const auto& endpoint : list_at(slice->value, {"endpoints"}))
      out += endpoint["addresses"][0].get<std::string>() + " ";
    return out;
  }

  Api api;
  EndpointSliceController controller{api};
};
}  // namespace

TEST_CASE("slices follow Services and pods") {
  KeeperRig rig;
  rig.service("web", R"({"app":"echo"})");
  rig.service("other", R"({"app":"db"})");
  rig.controller.reconcile();
  CHECK(rig.addresses("web") == "");
  rig.pod("a", "10.1.0.1");
  rig.pod("b", "10.1.0.2");
  rig.controller.reconcile();
  CHECK(rig.addresses("web") == "10.1.0.1 10.1.0.2 ");
  CHECK(rig.addresses("other") == "");
  (void)rig.api.remove(pods(), {"default", "a"}, {});
  rig.controller.reconcile();
  CHECK(rig.addresses("web") == "10.1.0.2 ");
  (void)rig.api.remove(services(), {"default", "web"}, {});
  rig.controller.reconcile();
  CHECK(rig.addresses("web") == "none");
  CHECK(rig.addresses("other") == "");
}

TEST_CASE("what did not change is not written again") {
  KeeperRig rig;
  rig.service("web", R"({"app":"echo"})");
  rig.pod("a", "10.1.0.1");
  rig.controller.reconcile();
  const auto before = rig.api.store().revision();
  rig.controller.reconcile();
  CHECK(rig.api.store().revision() == before);
}

TEST_CASE("slices of others are left alone, and those left behind by a Service go") {
  KeeperRig rig;
  rig.service("web", R"({"app":"echo"})");
  rig.controller.reconcile();
  auto foreign = rig.api.store().get(endpoint_slices(), {"default", "web-ipv4"})->value;
  foreign["metadata"] = Json::parse(R"({"name":"old-ipv4","labels":
      {"kubernetes.io/service-name":"old","endpointslice.kubernetes.io/managed-by":"me"}})");
  REQUIRE(static_cast<bool>(rig.api.create(endpoint_slices(), "default", foreign, {})));
  foreign["metadata"]["name"] = "gone-ipv4";
  foreign["metadata"]["labels"] =
      rig.api.store().get(endpoint_slices(), {"default", "web-ipv4"})->value["metadata"]["labels"];
  foreign["metadata"]["labels"]["kubernetes.io/service-name"] = "gone";
  REQUIRE(static_cast<bool>(rig.api.create(endpoint_slices(), "default", foreign, {})));
  std::vector<std::pair<const Resource*, Json>> everything;
  for (const auto& [resource, object] : rig.api.store().snapshot().objects)
    everything.emplace_back(resource, object->value);
  // As after a restart: no history tells what changed, so everything is looked at.
  rig.api.restore(everything, rig.api.store().revision() + 1);
  rig.controller.reconcile();
  CHECK(rig.addresses("old") == "");
  CHECK(rig.addresses("gone") == "none");
  CHECK(rig.addresses("web") == "");
}
