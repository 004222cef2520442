// The examples that a real API server can express, there: kindlb, Envoy and traffic as ever, with
// the echo program on this machine behind all of them.

#include "integration/stage.hpp"
#include "sandbox/examples.hpp"
#include "support/paths.hpp"
#include "support/servers/child.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace kindlb;
using Json = nlohmann::json;

namespace {
/// What a cluster's own controller does for Services with selectors; none runs here. No address: no
/// pod matches.
void put_slice(const it::Stage& stage, const Json& service, const std::string& family,
               const std::string& address, int port) {
  const std::string name = service["metadata"]["name"];
  Json ports = Json::array();
  for (const auto& one : service["spec"]["ports"])
    ports.push_back(
        {{"name", one.value("name", "")}, {"protocol", one["protocol"]}, {"port", port}});
  const auto slice = name + (family == "IPv6" ? "-v6" : "-v4");
  Json endpoints = Json::array();
  if (!address.empty())
    endpoints.push_back({{"addresses", {address}}, {"conditions", {{"ready", true}}}});
  const Json body{
      {"apiVersion", "discovery.k8s.io/v1"},
      {"kind", "EndpointSlice"},
      {"metadata", {{"name", slice}, {"labels", {{"kubernetes.io/service-name", name}}}}},
      {"addressType", family},
      {"ports", ports},
      {"endpoints", endpoints}};
  stage.rest().patch("/apis/discovery.k8s.io/v1/namespaces/" + stage.ns() + "/endpointslices/" +
                         slice + "?fieldManager=test",
                     "apply", body.dump());
}

void put_slices(const it::Stage& stage, const Json& service, int port) {
  const bool nobody = service["spec"]["selector"]["app"] != "echo";
  for (const auto& family : service["spec"]["ipFamilies"]) {
    const bool v6 = family == "IPv6";
    const auto& subnet = stage.subnet(v6 ? core::IpFamily::V6 : core::IpFamily::V4);
    put_slice(stage, service, family, nobody ? "" : subnet.gateway->text(), port);
  }
}
}  // namespace

TEST_CASE("a real API server keeps what the examples promise") {
  it::Stage stage(it::Families::Both);
  const int port = test::free_port();
  const test::Child echo({test::program("kindlb-echo"), std::to_string(port)},
                         std::filesystem::temp_directory_path() / (stage.ns() + ".echo"));
  stage.start({"--services-per-proxy", "0"});
  const auto chosen = stage.unused_address().text();
  const it::Cluster cluster{stage.rest(), stage.ns(), stage.diary()};
  for (const auto& promise : it::promises()) {
    if (!promise.real) continue;
    const auto made = stage.rest().patch(cluster.path(promise.name) + "?fieldManager=test", "apply",
                                         it::example_text(promise.name, chosen));
    put_slices(stage, Json::parse(made), port);
  }
  for (const auto& promise : it::promises())
    if (promise.real) it::check_promise(cluster, promise);
  std::filesystem::remove(std::filesystem::temp_directory_path() / (stage.ns() + ".echo"));
}
