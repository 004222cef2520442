#include "codec.hpp"

#include "kube/fixture.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

using namespace kindlb;
using core::ErrorKind;
using kube::parse_json;
using test::fixture;

namespace {
core::Timestamp transition_time() {
  using namespace std::chrono;
  return sys_days{year{2026} / 1 / 2} + hours{3} + minutes{4} + seconds{5};
}

core::IpAddress ip(const char* text) {
  return core::IpAddress::parse(text).value();
}

/// A Service that decodes, with `spec` and `status` as given.
std::string service_with(const std::string& spec, const std::string& status = "{}") {
  return R"({"metadata":{"name":"a","namespace":"n","uid":"u"},"spec":)" + spec + R"(,"status":)" +
         status + "}";
}

core::Result<core::Service> read(const std::string& text) {
  return kube::decode_service(parse_json(text), "kind");
}
}  // namespace

TEST_CASE("a Service as the API server gives it") {
  const auto service = read(fixture("service.json"));
  REQUIRE_MESSAGE(service.ok(), service.error().text());
  CHECK(service->key == core::ServiceKey{"kind", "default", "web"});
  CHECK(service->uid == "6f328e2b-9f8d-47ea-b5fe-2e0111308832");
  CHECK(service->resource_version == "531");
  CHECK_FALSE(service->deleting);
  CHECK(service->finalizers == std::vector<std::string>{core::kFinalizer});
  // The copy kubectl keeps of the object is left out on purpose.
  CHECK(service->annotations == std::map<std::string, std::string>{
                                    {core::kObservedAnnotation, "h1"},
                                    {"kindlb.dev/required-load-balancer-features", "Ports"}});
  const core::ServiceSpec want{
      .type = core::ServiceType::LoadBalancer,
      .load_balancer_class = "kindlb.dev/envoy",
      .ports = {{"http", core::Protocol::Tcp, 80, "web", 31528},
                {"dns", core::Protocol::Udp, 53, "5353", 30839}},
      .ip_families = {core::IpFamily::V4},
      .family_policy = core::FamilyPolicy::SingleStack,
      .affinity = core::Affinity::ClientIp,
      .affinity_seconds = 10'800,
      .source_ranges = {"10.0.0.0/8", "192.168.0.0/16"},
      .load_balancer_ip = "172.18.255.250",
      .external_traffic_policy = core::TrafficPolicy::Local,
      .allocate_node_ports = true,
      .health_check_node_port = 30833,
      .required_features = {},
      .has_selector = true,
  };
  CHECK(service->spec.ports == want.ports);
  CHECK(service->spec == want);
  CHECK(service->status.ingress ==
        std::vector<core::Ingress>{{"172.18.255.250",
                                    "",
                                    "Proxy",
                                    {{80, core::Protocol::Tcp, ""},
                                     {53, core::Protocol::Udp, "kindlb.dev/PortsNotSupported"}}}});
  CHECK(service->status.conditions ==
        std::vector<core::Condition>{{core::kServingCondition, core::ConditionStatus::True,
                                      "Serving", "serving on 172.18.255.250", transition_time()},
                                     {core::kProvisioningCondition, core::ConditionStatus::False,
                                      "Complete", "done", transition_time()}});
}

TEST_CASE("a Service's optional fields") {
  SUBCASE("all absent") {
    const auto service = read(R"({"metadata":{"name":"a","namespace":"n","uid":"u"}})");
    REQUIRE_MESSAGE(service.ok(), service.error().text());
    CHECK(service->spec == core::ServiceSpec{});
    CHECK(service->status == core::ServiceStatus{});
  }
  SUBCASE("null is absent") {
    const auto service =
        read(service_with(R"({"ports":null,"selector":null,"type":null})", "null"));
    REQUIRE_MESSAGE(service.ok(), service.error().text());
    CHECK(service->spec == core::ServiceSpec{});
  }
  SUBCASE("required features, where the server has them") {
    const auto service =
        read(service_with(R"({"requiredLoadBalancerFeatures":["Ports","IPFamilies"]})"));
    REQUIRE(service.ok());
    CHECK(service->spec.required_features == std::vector<std::string>{"Ports", "IPFamilies"});
  }
  SUBCASE("being deleted, two families, no node ports") {
    const auto service = read(R"({"metadata":{"name":"a","namespace":"n","uid":"u",
                  "deletionTimestamp":"2026-01-02T03:04:05Z"},
                  "spec":{"ipFamilies":["IPv6","IPv4"],"ipFamilyPolicy":"RequireDualStack",
                  "allocateLoadBalancerNodePorts":false}})");
    REQUIRE(service.ok());
    CHECK(service->deleting);
    CHECK(service->spec.ip_families ==
          std::vector<core::IpFamily>{core::IpFamily::V6, core::IpFamily::V4});
    CHECK(service->spec.family_policy == core::FamilyPolicy::RequireDualStack);
    CHECK_FALSE(service->spec.allocate_node_ports);
  }
  SUBCASE("KEP-3622, KEP-4144: neither cluster IP nor health-check node port") {
    const auto service = read(service_with(
        R"({"allocateLoadBalancerClusterIP":false,"allocateLoadBalancerHCNodePort":false})"));
    REQUIRE(service.ok());
    CHECK_FALSE(service->spec.allocate_cluster_ip);
    CHECK_FALSE(service->spec.allocate_health_check_node_port);
  }
  SUBCASE("hints to other implementations") {
    const auto service = read(service_with(R"({"trafficDistribution":"PreferSameZone",
                              "ports":[{"port":80,"appProtocol":"http"}]})"));
    REQUIRE(service.ok());
    CHECK(service->spec.traffic_distribution == "PreferSameZone");
    CHECK(service->spec.ports[0].app_protocol == "http");
  }
}

TEST_CASE("a field of another type is named") {
  struct Case {
    const char* name;
    std::string text;
    const char* says;
  };
  const Case cases[] = {
      {"no object", "[]", "not an object"},
      {"not JSON", "{", "not an object"},
      {"no name", R"({"metadata":{"namespace":"n","uid":"u"}})", "metadata.name: missing"},
      {"no uid", R"({"metadata":{"namespace":"n","name":"a"}})", "metadata.uid: missing"},
      {"metadata a list", R"({"metadata":[]})", "metadata: not an object"},
      {"finalizers", R"({"metadata":{"name":"a","namespace":"n","uid":"u","finalizers":[1]}})",
       "metadata.finalizers: not a list of strings"},
      {"annotations",
       R"({"metadata":{"name":"a","namespace":"n","uid":"u","annotations":{"x":1}}})",
       "metadata.annotations: 'x' is not a string"},
      {"type", service_with(R"({"type":"Magic"})"), "spec.type: 'Magic' is not known"},
      {"type a number", service_with(R"({"type":1})"), "spec.type: not a string"},
      {"port too large", service_with(R"({"ports":[{"port":80},{"port":65536}]})"),
       "spec.ports[1].port: not a port number"},
      {"port negative", service_with(R"({"ports":[{"port":-1}]})"), "not a port number"},
      {"port a fraction", service_with(R"({"ports":[{"port":80.5}]})"), "not a port number"},
      {"port beyond all", service_with(R"({"ports":[{"port":99999999999999999999999}]})"),
       "not a port number"},
      {"ports an object", service_with(R"({"ports":{"port":80}})"), "spec.ports: not a list"},
      {"port a string", service_with(R"({"ports":["80"]})"), "spec.ports[0]: not an object"},
      {"protocol", service_with(R"({"ports":[{"port":80,"protocol":"QUIC"}]})"), "'QUIC'"},
      {"target port", service_with(R"({"ports":[{"targetPort":[]}]})"), "targetPort"},
      {"family", service_with(R"({"ipFamilies":["IPv5"]})"), "'IPv5'"},
      {"flag", service_with(R"({"allocateLoadBalancerNodePorts":"no"})"), "not a boolean"},
      {"ingress", service_with("{}", R"({"loadBalancer":{"ingress":[{"ip":4}]}})"),
       "status.loadBalancer.ingress[0].ip: not a string"},
      {"time", service_with("{}", R"({"conditions":[{"lastTransitionTime":"soon"}]})"),
       "status.conditions[0].lastTransitionTime: 'soon' is not a time"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const auto service = read(c.text);
      REQUIRE_FALSE(service.ok());
      CHECK(service.error().kind == ErrorKind::Protocol);
      CAPTURE(service.error().text());
      CHECK(service.error().detail.find(c.says) != std::string::npos);
    }
  }
}

TEST_CASE("an EndpointSlice as the API server gives it") {
  const auto slice = kube::decode_slice(parse_json(fixture("endpointslice.json")), "kind");
  REQUIRE_MESSAGE(slice.ok(), slice.error().text());
  REQUIRE(slice->has_value());
  const core::EndpointSlice want{
      .service = {"kind", "default", "web"},
      .name = "web-abc12",
      .family = core::IpFamily::V4,
      .by_controller = false,  // recorded from one made with curl
      .ports = {{"http", core::Protocol::Tcp, 8080}, {"dns", core::Protocol::Udp, 5353}},
      .endpoints = {{ip("10.244.0.5"), true, true, false, "kind-worker", "Pod/default/web-1"},
                    {ip("10.244.0.6"), false, true, true, "kind-worker", ""},
                    {ip("10.244.0.7"), true, true, false, "", ""}},
  };
  CHECK((**slice == want));
}

TEST_CASE("slices that are passed over, and parts of slices") {
  const auto slice_with = [](const std::string& labels, const std::string& rest) {
    return kube::decode_slice(parse_json(R"({"metadata":{"name":"s","namespace":"n","labels":)" +
                                         labels + "}," + rest + "}"),
                              "kind");
  };
  const std::string label = R"({"kubernetes.io/service-name":"a"})";
  SUBCASE("no label") {
    const auto slice = slice_with("{}", R"("addressType":"IPv4")");
    REQUIRE(slice.ok());
    CHECK_FALSE(slice->has_value());
  }
  SUBCASE("only what the EndpointSlice controller keeps follows the Service") {
    const auto managed_by = [&](const std::string& manager) {
      const auto slice = slice_with(R"({"kubernetes.io/service-name":"a",)"
                                    R"("endpointslice.kubernetes.io/managed-by":")" +
                                        manager + "\"}",
                                    R"("addressType":"IPv4")");
      return (*slice)->by_controller;
    };
    CHECK(managed_by("endpointslice-controller.k8s.io"));
    CHECK_FALSE(managed_by("endpointslicemirroring-controller.k8s.io"));
    CHECK_FALSE((*slice_with(label, R"("addressType":"IPv4")"))->by_controller);
  }
  SUBCASE("host names") {
    const auto slice = slice_with(label, R"("addressType":"FQDN")");
    REQUIRE(slice.ok());
    CHECK_FALSE(slice->has_value());
  }
  SUBCASE("addresses that are none, or of the other family, are left out") {
    const auto slice =
        slice_with(label, R"("addressType":"IPv6","endpoints":[{"addresses":["010.1.1.1"]},
                  {"addresses":["10.1.1.1"]},{"addresses":[]},{"addresses":["fd00::1","fd00::2"]}])");
    REQUIRE_MESSAGE(slice.ok(), slice.error().text());
    REQUIRE((*slice)->endpoints.size() == 1);
    CHECK((*slice)->endpoints[0].address == ip("fd00::1"));
  }
  SUBCASE("an unknown serving condition follows ready") {
    const auto slice = slice_with(
        label,
        R"("addressType":"IPv4","endpoints":[{"addresses":["10.0.0.1"],"conditions":{"ready":false}}])");
    REQUIRE(slice.ok());
    CHECK_FALSE((*slice)->endpoints[0].serving);
  }
  SUBCASE("a port without a number is left out") {
    const auto slice =
        slice_with(label, R"("addressType":"IPv4","ports":[{"name":"x"},{"port":1}])");
    REQUIRE(slice.ok());
    REQUIRE((*slice)->ports.size() == 1);
  }
  SUBCASE("another type is an error") {
    const auto slice = slice_with(label, R"("addressType":"IPv4","endpoints":{})");
    REQUIRE_FALSE(slice.ok());
    CHECK(slice.error().text() == "read endpointslice s: endpoints: not a list (Protocol)");
  }
}

TEST_CASE("a Node as the API server gives it") {
  const auto node = kube::decode_node(parse_json(fixture("node.json")));
  REQUIRE_MESSAGE(node.ok(), node.error().text());
  CHECK(node->name == "kind-control-plane");
  CHECK_FALSE(node->uid.empty());
  CHECK(node->ready);
  CHECK_FALSE(node->deleting);
  CHECK(node->excluded);
  CHECK(node->internal_ips ==
        std::vector<core::IpAddress>{ip("172.18.0.2"), ip("fc00:f853:ccd:e793::2")});
  CHECK(node->pod_cidrs == std::vector<core::Cidr>{core::Cidr::parse("10.244.0.0/24").value(),
                                                   core::Cidr::parse("fd00:10:244::/64").value()});
}

TEST_CASE("a bare Node is neither ready nor excluded") {
  const auto node = kube::decode_node(parse_json(R"({"metadata":{"name":"x"}})"));
  REQUIRE(node.ok());
  CHECK_FALSE(node->ready);
  CHECK_FALSE(node->excluded);
  CHECK_FALSE(kube::decode_node(parse_json(R"({"metadata":{}})")).ok());
}

TEST_CASE("managedFields are never kept") {
  REQUIRE(fixture("service.json").find("managedFields") != std::string::npos);
  CHECK(parse_json(fixture("service.json")).dump().find("managedFields") == std::string::npos);
}
