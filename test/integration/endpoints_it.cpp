// Serving=True and the endpoints behind it: no claim before the EndpointSlices have followed the
// Service, and none for UDP before somebody has answered. No controller manager runs beside the API
// server, so the EndpointSlice controller's work is done here, when the test says so.
#include "integration/served.hpp"
#include "kindlb/core/conditions.hpp"
#include "support/traffic/ask.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iostream>

namespace {

using namespace kindlb;
using it::shared_stage;
using it::told;
using testing::ask_tcp;
using testing::ask_udp;

constexpr const char* kUpdating = "Serving=True/Serving Provisioning=True/Provisioning";

/// A Service with a selector, and its only EndpointSlice as the controller left it.
class Selected {
 public:
  explicit Selected(it::Stage& stage) : stage_(stage) {}
  ~Selected() {
    try {
      stage_.rest().remove(slice_path());
      stage_.remove(name_);
      stage_.diary().wait_gone(name_, it::kPatience);
    } catch (const std::exception& problem) {
      std::cerr << "removing " << name_ << ": " << problem.what() << "\n";
    }
  }
  Selected(const Selected&) = delete;
  Selected& operator=(const Selected&) = delete;

  const std::string& name() const { return name_; }
  void create(const std::string& ports, const std::string& more = "") {
    stage_.create(name_, fmt::format(R"({{"type":"LoadBalancer","selector":{{"app":"x"}},)"
                                     R"("ports":[{}]{}}})",
                                     ports, more));
  }
  void slice_has(const std::string& port, const core::Target& endpoint,
                 const char* protocol = "TCP", const std::string& node = "") {
    nlohmann::json one = {{"addresses", {endpoint.address.text()}},
                          {"conditions", {{"ready", true}}}};
    if (!node.empty()) one["nodeName"] = node;
    const nlohmann::json slice = {
        {"apiVersion", "discovery.k8s.io/v1"},
        {"kind", "EndpointSlice"},
        {"metadata",
         {{"name", name_ + "-1"},
          {"labels",
           {{"kubernetes.io/service-name", name_},
            {"endpointslice.kubernetes.io/managed-by", "endpointslice-controller.k8s.io"}}}}},
        {"addressType", "IPv4"},
        {"ports", {{{"name", port}, {"port", endpoint.port}, {"protocol", protocol}}}},
        {"endpoints", {one}}};
    stage_.rest().patch(slice_path() + "?fieldManager=controller&force=true", "apply",
                        slice.dump());
  }

 private:
  std::string slice_path() const {
    return fmt::format("/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices/{}-1", stage_.ns(),
                       name_);
  }

  static std::string unique_name() {
    static int number = 0;
    return fmt::format("selected-{}", ++number);
  }

  it::Stage& stage_;
  const std::string name_ = unique_name();  ///< the diary keeps what it saw of former ones
};

std::string tcp_port(const std::string& name, std::uint16_t target) {
  return fmt::format(R"({{"name":"{}","port":80,"targetPort":{}}})", name, target);
}

core::Timestamp serving_since(const core::Service& service) {
  return core::find_condition(service.status.conditions, core::kServingCondition)->last_transition;
}

}  // namespace

TEST_CASE("a changed port is not reported open before its EndpointSlices have followed") {
  auto& stage = shared_stage();
  const testing::Backend one(stage.gateway(), "one");
  const testing::Backend two(stage.gateway(), "two");
  Selected web(stage);
  web.slice_has("http", one.target());
  web.create(tcp_port("http", one.port()));
  const auto before = stage.await_serving(web.name());
  const auto target = it::target_of(before);
  REQUIRE(ask_tcp(target, "x") == "one x");

  std::string name = "http";
  const testing::Backend* backend = &one;
  SUBCASE("renamed") { name = "web"; }
  SUBCASE("retargeted") { backend = &two; }
  SUBCASE("both") {
    name = "web";
    backend = &two;
  }
  const auto seen = stage.diary().count(web.name());
  stage.patch(web.name(),
              fmt::format(R"({{"spec":{{"ports":[{}]}}}})", tcp_port(name, backend->port())));
  stage.await(
      web.name(), [](const auto& s) { return told(s) == kUpdating; }, seen);
  stage.serve_another();
  const auto waiting = stage.get(web.name());
  CHECK(told(waiting) == kUpdating);
  CHECK(serving_since(waiting) == serving_since(before));
  CHECK(ask_tcp(target, "x") == "one x");  // as before

  const auto updating = stage.diary().count(web.name());
  web.slice_has(name, backend->target());
  const auto after = stage.await_serving(web.name(), updating);
  CHECK(ask_tcp(target, "x") == backend->name() + " x");  // the very first connection
  CHECK(serving_since(after) > serving_since(before));
  CHECK(after.status.ingress == before.status.ingress);
}

TEST_CASE("a UDP-only Service whose pods cannot be reached is not reported as serving") {
  auto& stage = shared_stage();
  const testing::Backend one(stage.gateway(), "one");
  Selected dns(stage);
  // The route to the pod leads through a node that does not exist.
  stage.create_node("nowhere", stage.unused_address());
  dns.slice_has("udp", {*core::IpAddress::parse("10.244.77.7"), one.port()}, "UDP", "nowhere");
  dns.create(
      fmt::format(R"({{"name":"udp","port":80,"protocol":"UDP","targetPort":{}}})", one.port()),
      R"(,"allocateLoadBalancerNodePorts":false)");
  const auto refused = stage.await(dns.name(), [](const auto& s) {
    return told(s) == "Serving=False/Infrastructure Provisioning=True/Provisioning";
  });
  CHECK(refused.status.ingress.empty());

  dns.slice_has("udp", one.target(), "UDP");
  const auto served = stage.await_serving(dns.name());
  CHECK(ask_udp(it::target_of(served), "x") == "one x");  // the very first datagram
  for (const auto& page : stage.diary().pages(dns.name()))
    if (page.status.ingress.empty())
      CHECK_FALSE(core::is_true(page.status.conditions, core::kServingCondition));
  stage.remove_node("nowhere");
}
