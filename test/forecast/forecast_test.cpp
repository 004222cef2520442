#include "kindlb/forecast/forecast.hpp"

#include "kindlb/forecast/cluster_facts.hpp"
#include "kindlb/kube/manifest.hpp"
#include "kindlb/yaml/node.hpp"
#include "support/builders.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace kindlb;
using forecast::ClusterFacts;
using forecast::Decision;
using forecast::ServiceForecast;
using test::cidr;
using test::ip;

const std::string kHead = "---\napiVersion: v1\nkind: Service\n";

kube::Manifests read(const std::string& text) {
  kube::ManifestReader reader("plan");
  const auto result = reader.add(text, "f.yaml");
  REQUIRE_MESSAGE(result.ok(), result.error().text());
  return reader.take();
}

ClusterFacts facts(const std::string& text) {
  auto result = forecast::parse_facts(text, "facts.yaml");
  REQUIRE_MESSAGE(result.ok(), result.error().text());
  return *result;
}

std::string complaint(const std::string& text) {
  const auto result = forecast::parse_facts(text, "facts.yaml");
  REQUIRE_FALSE(result.ok());
  return result.error().operation + ": " + result.error().detail;
}

std::vector<ServiceForecast> look(const std::string& manifests,
                                  const ClusterFacts& cluster = forecast::default_facts(),
                                  const core::Policy& policy = {}) {
  auto result = forecast::forecast_services(read(manifests), cluster, policy, test::at(1000));
  REQUIRE_MESSAGE(result.ok(), result.error().text());
  return *result;
}

std::string service(const std::string& name, const std::string& spec = "ports: [{port: 80}]",
                    const std::string& rest = "") {
  return kHead + "metadata: {name: " + name + "}\nspec: {type: LoadBalancer, " + spec + "}\n" +
         rest;
}

std::vector<std::string> addresses(const ServiceForecast& forecast) {
  std::vector<std::string> out;
  if (forecast.prediction.status)
    for (const auto& ingress : forecast.prediction.status->ingress) out.push_back(ingress.ip);
  return out;
}

std::vector<std::string> targets(const ServiceForecast& forecast) {
  std::vector<std::string> out;
  if (forecast.prediction.config)
    for (const auto& backend : forecast.prediction.config->backends)
      for (const auto& target : backend.targets) out.push_back(target.text());
  return out;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("an address given to one Service is taken for the next") {
  const auto seen = look(service("a") + service("b") + service("c"));
  REQUIRE(seen.size() == 3);
  CHECK(addresses(seen[0]) == Words{"172.18.255.254"});
  CHECK(addresses(seen[1]) == Words{"172.18.255.253"});
  CHECK(addresses(seen[2]) == Words{"172.18.255.252"});
}

TEST_CASE("Services that have an address keep it, also from those before them") {
  const auto seen =
      look(service("new") + service("old", "ports: [{port: 80}]",
                                    "status: {loadBalancer: {ingress: [{ip: 172.18.255.254}]}}\n"));
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].service == "default/new");
  CHECK(addresses(seen[0]) == Words{"172.18.255.253"});
  CHECK(addresses(seen[1]) == Words{"172.18.255.254"});
}

TEST_CASE("refused and ignored Services take no address") {
  const auto seen = look(service("a", "ports: [{port: 1, protocol: SCTP}]") +
                         service("b", "loadBalancerClass: x/y, ports: [{port: 1}]") + service("c"));
  CHECK(seen[0].decision == Decision::Refuse);
  CHECK(addresses(seen[0]).empty());
  CHECK_FALSE(seen[0].prediction.config.has_value());
  CHECK(seen[1].decision == Decision::Ignore);
  CHECK_FALSE(seen[1].prediction.status.has_value());
  CHECK(addresses(seen[2]) == Words{"172.18.255.254"});
}

TEST_CASE("ignored Services have a reason") {
  struct Case {
    const char* name;
    std::string manifest;
    bool require_class;
    const char* reason;
    const char* mentions;
  };
  const Case cases[] = {
      {"type", kHead + "metadata: {name: a}\nspec: {type: NodePort, ports: [{port: 1}]}\n", false,
       "NotLoadBalancer", "NodePort"},
      {"class", service("a", "loadBalancerClass: x/y, ports: [{port: 1}]"), false, "OtherClass",
       "x/y"},
      {"no class", service("a"), true, "NoClass", "--require-class"},
      {"deleted",
       kHead + "metadata: {name: a, deletionTimestamp: 2026-01-01T00:00:00Z, annotations: "
               "{kindlb.dev/observed: abc}}\nspec: {type: LoadBalancer, ports: [{port: 1}]}\n",
       false, "Deleted", "removed"},
      {"was ours",
       kHead + "metadata: {name: a, uid: u1, annotations: {kindlb.dev/observed: abc.u1}}\n"
               "spec: {ports: [{port: 1}]}\n",
       false, "NoLongerOurs", "removed"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      core::Policy policy;
      policy.require_class = c.require_class;
      const auto seen = look(c.manifest, forecast::default_facts(), policy);
      REQUIRE(seen.size() == 1);
      CHECK(seen[0].decision == Decision::Ignore);
      REQUIRE(seen[0].reasons.size() == 1);
      CHECK(seen[0].reasons[0].reason == c.reason);
      CHECK(seen[0].reasons[0].message.find(c.mentions) != std::string::npos);
    }
  }
}

TEST_CASE("endpoints in brief") {
  const auto cluster = facts(
      "nodes: [{name: n1, addresses: [172.18.0.2, 'fc00:f853:ccd:e793::2']}, {name: n2}]\n"
      "endpoints:\n- {service: web, addresses: [10.244.0.5, 'fd00:10:244::5']}\n"
      "- {service: web, addresses: [10.244.0.6], ready: false}\n"
      "- {service: other/nobody, addresses: [10.244.0.7]}\n");
  const auto seen =
      look(service("web", "ipFamilyPolicy: PreferDualStack, ports: [{port: 80, targetPort: 8080}]"),
           cluster);
  CHECK(targets(seen[0]) == Words{"10.244.0.5:8080", "[fd00:10:244::5]:8080"});
  CHECK(seen[0].prediction.config->direct);
  CHECK(seen[0].prediction.config->routes.size() == 2);  // through the first node
}

TEST_CASE("endpoints on a node that is not there are a mistake, not a detour") {
  const auto cluster = facts("endpoints: [{service: web, node: typo, addresses: [10.244.0.5]}]");
  const auto result =
      forecast::forecast_services(read(service("web")), cluster, {}, test::at(1000));
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().operation == "facts.yaml:1:13");
  CHECK(result.error().detail.starts_with("unknown node 'typo'"));
}

TEST_CASE("no value breaks a line of the text, or talks to the terminal") {
  const auto text = forecast::forecast_text(
      look(kHead +
           "metadata: {name: web, annotations: {kindlb.dev/load-balancer-ips: \"x\\ny\\e[1m\"}}\n"
           "spec: {type: LoadBalancer, ports: [{port: 80}]}\n"));
  CHECK(text.find("ips x\\ny\\x1b[1m is not an IP address") != std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("a named target port needs its number") {
  const auto manifest = service("web", "ports: [{name: h, port: 80, targetPort: http}]");
  const auto given = facts("endpoints: [{service: web, addresses: [10.244.0.5], ports: {h: 81}}]");
  CHECK(targets(look(manifest, given)[0]) == Words{"10.244.0.5:81"});
  const auto missing = facts("endpoints:\n- {service: web, addresses: [10.244.0.5]}\n");
  const auto result = forecast::forecast_services(read(manifest), missing, {}, test::at(0));
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().operation == "facts.yaml:2:3");
  CHECK(result.error().detail.find("'http'") != std::string::npos);
}

TEST_CASE("node ports are as an API server would give them") {
  core::Policy policy;
  policy.datapath = core::Datapath::NodePort;
  CHECK(targets(look(service("web"), forecast::default_facts(), policy)[0]) ==
        Words{"172.18.0.2:30000"});
  const auto node =
      "---\napiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus:\n"
      "  conditions: [{type: Ready, status: 'True'}]\n"
      "  addresses: [{type: InternalIP, address: 172.18.0.9}]\n";
  CHECK(targets(look(service("web") + node, forecast::default_facts(), policy)[0]) ==
        Words{"172.18.0.9:30000"});
}

TEST_CASE("KEP-4144: no health check without a health-check node port") {
  core::Policy policy;
  policy.datapath = core::Datapath::NodePort;
  const auto cluster = facts("endpoints: [{service: web, addresses: [10.244.0.5]}]");
  const auto seen = [&](const std::string& field) {
    return look(service("web", "externalTrafficPolicy: Local, " + field + "ports: [{port: 80}]"),
                cluster, policy);
  };
  const auto usual = seen("");
  CHECK(usual[0].prediction.config->backends[0].health_port == 30001);
  CHECK(forecast::forecast_yaml(usual).find("health_checks") != std::string::npos);
  const auto without = seen("allocateLoadBalancerHCNodePort: false, ");
  CHECK(without[0].prediction.config->backends[0].health_port == 0);
  CHECK(forecast::forecast_yaml(without).find("health_check") == std::string::npos);
  // The EndpointSlices say which nodes have pods.
  CHECK(targets(without[0]) == Words{"172.18.0.2:30000"});
}

TEST_CASE("what would not work here is reported, whatever the verdict") {
  const auto cluster = facts("network: {subnets: [172.18.0.0/29]}\nnodes: []\n");
  std::string many;
  for (int i = 0; i < 6; ++i) many += service("s" + std::to_string(i));
  const auto seen = look(many, cluster);
  CHECK(seen[4].prediction.failure == "");  // 2 to 6; the gateway has 1
  CHECK(seen[5].decision == Decision::Serve);
  CHECK(seen[5].prediction.failure.find("172.18.0.0/29") != std::string::npos);
  CHECK(forecast::forecast_text(seen).find("1 would not work here") != std::string::npos);
}

TEST_CASE("new addresses come from the ranges that were given") {
  core::Policy policy;
  policy.ip_ranges = {core::AddressRange::parse("172.18.7.1-172.18.7.9").value()};
  CHECK(addresses(look(service("a"), forecast::default_facts(), policy)[0]) == Words{"172.18.7.9"});
}

TEST_CASE("a cluster of one family") {
  const auto four = facts("ipFamilies: [IPv4]\n");
  CHECK(four.network.size() == 1);
  CHECK(
      look(service("a", "ipFamilyPolicy: PreferDualStack, ports: [{port: 1}]"), four)[0].decision ==
      Decision::Serve);
  const auto required =
      look(service("a", "ipFamilyPolicy: RequireDualStack, ports: [{port: 1}]"), four);
  CHECK(required[0].decision == Decision::Degrade);
  REQUIRE(required[0].reasons.size() == 1);
  CHECK(required[0].reasons[0].reason == "IPFamiliesNotSupported");
}

TEST_CASE("the usual facts are kind's") {
  const auto usual = forecast::default_facts();
  CHECK(usual == facts(""));
  CHECK(usual.families == std::vector{core::IpFamily::V4, core::IpFamily::V6});
  CHECK(usual.network.at(core::IpFamily::V4).subnet == cidr("172.18.0.0/16"));
  CHECK(usual.network.at(core::IpFamily::V6).subnet == cidr("fc00:f853:ccd:e793::/64"));
  CHECK(usual.network.at(core::IpFamily::V4).taken == std::set{ip("172.18.0.1"), ip("172.18.0.2")});
  REQUIRE(usual.nodes.size() == 1);
  CHECK(core::takes_traffic(usual.nodes[0]));
}

TEST_CASE("faults of facts are reported with their place") {
  struct Case {
    const char* name;
    const char* text;
    const char* expected;
  };
  const Case cases[] = {
      {"unknown key", "subnets: []", "facts.yaml:1:1: unknown key 'subnets'; known keys: "},
      {"unknown key inside", "network: {subnet: []}", "facts.yaml:1:11: unknown key 'subnet'"},
      {"not a subnet", "network: {subnets: [172.18.0.0]}",
       "facts.yaml:1:21: expected a subnet such as 172.18.0.0/16, not '172.18.0.0'"},
      {"two of a family", "network: {subnets: [10.0.0.0/8, 11.0.0.0/8]}",
       "facts.yaml:1:20: more than one subnet of IPv4"},
      {"not an address", "network: {taken: [x]}", "facts.yaml:1:19: expected an address, not 'x'"},
      {"not a family", "ipFamilies: [v4]", "facts.yaml:1:14: must be one of IPv4, IPv6, not 'v4'"},
      {"a family twice", "ipFamilies: [IPv4, IPv4]", "facts.yaml:1:20: IPv4 is given twice"},
      {"a nameless node", "nodes: [{ready: true}]", "facts.yaml:1:9: 'name' is missing"},
      {"not a flag", "nodes: [{name: a, ready: 1}]", "facts.yaml:1:26: 'ready' must be true"},
      {"endpoints without a service", "endpoints: [{addresses: []}]",
       "facts.yaml:1:13: 'service' is missing"},
      {"not a port", "endpoints: [{service: a, ports: {x: http}}]",
       "facts.yaml:1:37: expected a port from 1 to 65535, not 'http'"},
      {"ports as a list", "endpoints: [{service: a, ports: [1]}]",
       "facts.yaml:1:33: 'ports' must be a map"},
      {"two documents", "a: 1\n---\nb: 2\n",
       "facts.yaml:3:1: cluster facts must be a single YAML document"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const auto message = complaint(c.text);
      CHECK_MESSAGE(message.starts_with(c.expected), message);
    }
  }
}

TEST_CASE("JSON and YAML say the same") {
  const auto seen = look(
      service("web", "ipFamilyPolicy: PreferDualStack, ports: [{port: 80}]") +
      service(
          "voice",
          "externalTrafficPolicy: Local, loadBalancerIP: '1.2.3.4', ports: [{port: 1, name: a}, "
          "{port: 2, name: b, protocol: SCTP}]") +
      service("foreign", "loadBalancerClass: x/y, ports: [{port: 1}]"));
  const auto json = yaml::parse(forecast::forecast_json(seen), "json");
  const auto yaml = yaml::parse(forecast::forecast_yaml(seen), "yaml");
  REQUIRE(json.ok());
  REQUIRE_MESSAGE(yaml.ok(), yaml.error().text());
  REQUIRE(json->size() == 1);
  REQUIRE(yaml->size() == 1);
  // Compared as values, wherever they stand and however they are quoted.
  const std::function<bool(const yaml::Node&, const yaml::Node&)> same = [&](const yaml::Node& a,
                                                                             const yaml::Node& b) {
    if (a.kind != b.kind || a.items.size() != b.items.size()) return false;
    if (a.kind == yaml::Kind::Scalar) return yaml::resolve(a) == yaml::resolve(b);
    for (std::size_t i = 0; i < a.items.size(); ++i)
      if (!same(a.items[i], b.items[i]) ||
          (a.kind == yaml::Kind::Map && a.keys[i].text != b.keys[i].text))
        return false;
    return true;
  };
  CHECK(same(json->front(), yaml->front()));
}

TEST_CASE("the JSON has the fields it promises") {
  const auto seen =
      look(service("web") + service("foreign", "loadBalancerClass: x/y, ports: [{port: 1}]"));
  const auto json = nlohmann::json::parse(forecast::forecast_json(seen));
  const auto& web = json["items"][0];
  CHECK(web["service"] == "default/web");
  CHECK(web["decision"] == "serve");
  CHECK(web["reasons"].empty());
  CHECK_FALSE(web.contains("warnings"));
  CHECK_FALSE(web.contains("failure"));
  CHECK(web["status"]["loadBalancer"]["ingress"][0]["ip"] == "172.18.255.254");
  CHECK(web["status"]["conditions"][0]["lastTransitionTime"] == "1970-01-01T00:16:40Z");
  CHECK(web["envoy"]["listeners"].size() == 1);
  CHECK(web["envoy"]["clusters"].size() == 1);
  CHECK(web["envoy"]["endpoints"].size() == 1);
  const auto& off = json["items"][1];
  CHECK(off["decision"] == "ignore");
  CHECK(off["status"] == nlohmann::json::object());
  CHECK(off["envoy"] == nlohmann::json::object());
}
