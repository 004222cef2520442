#include "kindlb/kube/manifest.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

using namespace kindlb;
using core::IpFamily;
using core::Protocol;
using core::ServiceType;
using kube::ManifestReader;
using kube::Manifests;

const std::string kHead = "apiVersion: v1\nkind: Service\n";

Manifests load(const std::vector<std::string>& texts) {
  ManifestReader reader("plan");
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto result = reader.add(texts[i], "f" + std::to_string(i) + ".yaml");
    REQUIRE_MESSAGE(result.ok(), result.error().text());
  }
  return reader.take();
}

core::Service service(const std::string& rest) {
  const auto found = load({kHead + rest});
  REQUIRE(found.services.size() == 1);
  return found.services.front();
}

std::string error_of(const std::vector<std::string>& texts) {
  ManifestReader reader("plan");
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto result = reader.add(texts[i], "f" + std::to_string(i) + ".yaml");
    if (!result.ok()) return result.error().operation + ": " + result.error().detail;
  }
  FAIL("nothing was wrong");
  return {};
}

const std::string kWeb =
    "metadata: {name: web}\nspec: {type: LoadBalancer, ports: [{port: 80}], selector: {a: b}}\n";

std::vector<core::Service> defaulted(const std::string& spec,
                                     const std::vector<IpFamily>& families = {IpFamily::V4,
                                                                              IpFamily::V6}) {
  auto found = load({kHead + "metadata: {name: web}\nspec: " + spec + "\n"});
  kube::fill_defaults(found.services, families);
  return found.services;
}

}  // namespace

TEST_CASE("a Service as people write it") {
  const auto web = service(R"(metadata:
  name: web
  namespace: shop
  annotations:
    kindlb.dev/required-load-balancer-features: "Ports"
    number: "80"
spec:
  type: LoadBalancer
  loadBalancerClass: kindlb.dev/envoy
  selector: {app: web}
  sessionAffinity: ClientIP
  externalTrafficPolicy: Local
  allocateLoadBalancerNodePorts: no
  loadBalancerSourceRanges: [10.0.0.0/8]
  ports:
  - {name: http, port: 80, targetPort: 8080}
  - name: dns
    port: 053
    protocol: UDP
    targetPort: dns
)");
  CHECK(web.key == core::ServiceKey{"plan", "shop", "web"});
  CHECK(web.annotations.at("number") == "80");
  CHECK(web.spec.type == ServiceType::LoadBalancer);
  CHECK(web.spec.load_balancer_class == "kindlb.dev/envoy");
  CHECK(web.spec.has_selector);
  CHECK(web.spec.affinity == core::Affinity::ClientIp);
  CHECK(web.spec.external_traffic_policy == core::TrafficPolicy::Local);
  CHECK_FALSE(web.spec.allocate_node_ports);
  REQUIRE(web.spec.ports.size() == 2);
  CHECK(web.spec.ports[0].target_port == "8080");
  CHECK(web.spec.ports[1].port == 43);  // octal, as everywhere in YAML 1.1
  CHECK(web.spec.ports[1].protocol == Protocol::Udp);
  CHECK(web.spec.ports[1].target_port == "dns");
}

TEST_CASE("what manifests leave out") {
  const auto web = service(kWeb);
  CHECK(web.key.ns == "default");
  CHECK(web.uid.size() == 36);
  CHECK(web.uid == service(kWeb).uid);
  CHECK(web.uid != service("metadata: {name: web, namespace: other}\n").uid);
  CHECK(service("metadata: {name: web, uid: own}\n").uid == "own");
}

TEST_CASE("an API server's defaults") {
  const auto web = defaulted("{type: LoadBalancer, ports: [{port: 80}]}").front();
  CHECK(web.spec.ports[0].protocol == Protocol::Tcp);
  CHECK(web.spec.ports[0].target_port == "80");
  CHECK(web.spec.ports[0].node_port == 30000);
  CHECK(web.spec.health_check_node_port == 0);
  CHECK(web.spec.ip_families == std::vector{IpFamily::V4});
  CHECK(web.spec.affinity == core::Affinity::None);
  CHECK(web.spec.external_traffic_policy == core::TrafficPolicy::Cluster);
  CHECK(web.spec.allocate_node_ports);
}

TEST_CASE("families follow the policy and the cluster") {
  using Families = std::vector<IpFamily>;
  const Families both = {IpFamily::V4, IpFamily::V6};
  const Families v4 = {IpFamily::V4};
  const Families v6 = {IpFamily::V6};
  const Families six_first = {IpFamily::V6, IpFamily::V4};
  struct Case {
    const char* name;
    const char* spec;
    Families cluster;
    Families expected;
  };
  const Case cases[] = {
      {"unset", "{}", both, v4},
      {"single", "{ipFamilyPolicy: SingleStack}", both, v4},
      {"prefer", "{ipFamilyPolicy: PreferDualStack}", both, both},
      {"prefer where there is one", "{ipFamilyPolicy: PreferDualStack}", v4, v4},
      {"require", "{ipFamilyPolicy: RequireDualStack}", both, both},
      {"require where there is one", "{ipFamilyPolicy: RequireDualStack}", v4, both},
      {"prefer, IPv6 first", "{ipFamilyPolicy: PreferDualStack, ipFamilies: [IPv6]}", both,
       six_first},
      {"named", "{ipFamilies: [IPv6]}", both, v6},
      {"a cluster of IPv6", "{}", v6, v6},
      {"a cluster that knows nothing", "{}", {}, v4},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      CHECK(defaulted(c.spec, c.cluster).front().spec.ip_families == c.expected);
    }
  }
}

TEST_CASE("node ports are given out once, and not to those that want none") {
  auto found = load({kHead +
                     "metadata: {name: a}\nspec: {type: LoadBalancer, ports: [{port: 80, "
                     "nodePort: 30001}]}\n---\n" +
                     kHead +
                     "metadata: {name: b}\nspec: {type: LoadBalancer, externalTrafficPolicy: "
                     "Local, ports: [{name: x, port: 80}, {name: z, port: 81}]}\n---\n" +
                     kHead +
                     "metadata: {name: c}\nspec: {type: LoadBalancer, "
                     "allocateLoadBalancerNodePorts: false, ports: [{port: 80}]}\n---\n" +
                     kHead + "metadata: {name: d}\nspec: {ports: [{port: 80}]}\n"});
  kube::fill_defaults(found.services, {IpFamily::V4});
  CHECK(found.services[0].spec.ports[0].node_port == 30001);
  CHECK(found.services[1].spec.ports[0].node_port == 30000);
  CHECK(found.services[1].spec.ports[1].node_port == 30002);
  CHECK(found.services[1].spec.health_check_node_port == 30003);
  CHECK(found.services[2].spec.ports[0].node_port == 0);
  CHECK(found.services[3].spec.ports[0].node_port == 0);
}

TEST_CASE("KEP-4144: a health-check node port only where one is allocated") {
  const auto port_of = [](const std::string& spec) {
    const auto filled = defaulted(
        "{type: LoadBalancer, externalTrafficPolicy: Local, ports: [{port: 80}]" + spec + "}");
    return filled.front().spec.health_check_node_port;
  };
  CHECK(port_of("") != 0);
  CHECK(port_of(", allocateLoadBalancerHCNodePort: true") != 0);
  CHECK(port_of(", allocateLoadBalancerHCNodePort: false") == 0);
  // One that exists, or is asked for, stays.
  CHECK(port_of(", allocateLoadBalancerHCNodePort: false, healthCheckNodePort: 31234") == 31234);
}

TEST_CASE("documents, lists, files and other kinds") {
  const auto found = load({
      kHead + "metadata: {name: a}\n---\n---\napiVersion: v1\nkind: List\nitems:\n"
              "- {apiVersion: v1, kind: Service, metadata: {name: b}}\n"
              "- {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}\n",
      R"({"apiVersion": "v1", "kind": "ServiceList", "items": [{"metadata": {"name": "c"}}]})",
      "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: k}\n",
      "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus:\n"
      "  conditions: [{type: Ready, status: \"True\"}]\n"
      "  addresses: [{type: InternalIP, address: 172.18.0.2}]\n",
      "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\naddressType: IPv4\n"
      "metadata: {name: c-1, labels: {kubernetes.io/service-name: c}}\n"
      "ports: [{name: '', port: 80}]\nendpoints: [{addresses: [10.244.0.5]}]\n"
      "---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\naddressType: FQDN\n"
      "metadata: {name: c-2, labels: {kubernetes.io/service-name: c}}\n",
      "# nothing\n",
  });
  std::vector<std::string> names;
  for (const auto& one : found.services) names.push_back(one.key.name);
  CHECK(names == std::vector<std::string>{"a", "b", "c"});
  REQUIRE(found.nodes.size() == 1);
  CHECK(found.nodes[0].ready);
  REQUIRE(found.slices.size() == 1);
  CHECK(found.slices[0].service == core::ServiceKey{"plan", "default", "c"});
  REQUIRE(found.notes.size() == 3);
  CHECK(found.notes[0] == "f0.yaml:10:3: v1 ConfigMap settings is ignored");
  CHECK(found.notes[1].starts_with("f2.yaml:1:1: serving.knative.dev/v1 Service k"));
  CHECK(found.notes[2].starts_with("f4.yaml:8:1: EndpointSlice c-2"));
}

TEST_CASE("errors name the position") {
  struct Case {
    const char* name;
    std::string text;
    const char* expected;
  };
  const auto spec = [](const std::string& text) { return kHead + "metadata: {name: w}\n" + text; };
  const Case cases[] = {
      {"not YAML", kHead + "metadata: [\n", "f0.yaml:4:1: "},
      {"a key twice", kHead + "kind: Service\n", "f0.yaml:3:1: 'kind' is given twice"},
      {"not an object", "- 1\n", "f0.yaml:1:1: expected a Kubernetes object, not a list"},
      {"no kind", "a: 1\n", "f0.yaml:1:1: this is not a Kubernetes object: 'kind' is missing"},
      {"no version", "kind: Service\n", "f0.yaml:1:1: Service: 'apiVersion' is missing"},
      {"no name", kHead + "metadata: {labels: {}}\n", "f0.yaml:3:11: metadata.name: missing"},
      {"no metadata", kHead, "f0.yaml:1:1: metadata.name: missing"},
      {"a port in quotes", spec("spec:\n  ports:\n  - port: '80'\n"),
       "f0.yaml:6:11: spec.ports[0].port: not a port number; \"80\" is a string: write it without "
       "quotes"},
      {"a port too high", spec("spec:\n  ports:\n  - port: 65536\n"),
       "f0.yaml:6:11: spec.ports[0].port: not a port number"},
      {"no port", spec("spec:\n  ports:\n  - name: x\n"),
       "f0.yaml:6:5: spec.ports[0].port: missing, or not a port from 1 to 65535"},
      {"no ports", spec("spec:\n  type: LoadBalancer\n"), "f0.yaml:5:3: spec.ports: missing"},
      {"nameless ports", spec("spec:\n  ports: [{port: 1, name: a}, {port: 2}]\n"),
       "f0.yaml:5:31: spec.ports[1].name: missing"},
      {"a port twice", spec("spec: {ports: [{port: 1, name: a}, {port: 1, name: b}]}\n"),
       "f0.yaml:4:36: spec.ports[1]: TCP 1 is also spec.ports[0]"},
      {"a name twice", spec("spec: {ports: [{port: 1, name: a}, {port: 2, name: a}]}\n"),
       "f0.yaml:4:52: spec.ports[1].name: 'a' is also spec.ports[0]"},
      {"an unknown protocol", spec("spec: {ports: [{port: 1, protocol: tcp}]}\n"),
       "f0.yaml:4:36: spec.ports[0].protocol: 'tcp' is not known: use one of TCP, UDP, SCTP"},
      {"an unknown family", spec("spec: {ipFamilies: [ipv4]}\n"),
       "f0.yaml:4:20: spec.ipFamilies: 'ipv4' is not known: use IPv4 or IPv6"},
      {"a family twice", spec("spec: {ipFamilies: [IPv4, IPv4]}\n"),
       "f0.yaml:4:27: spec.ipFamilies[1]: IPv4 is given twice"},
      {"a target port below", spec("spec: {ports: [{port: 1, targetPort: -5}]}\n"),
       "f0.yaml:4:38: spec.ports[0].targetPort: neither a port from 1 to 65535 nor"},
      {"a target port above", spec("spec: {ports: [{port: 1, targetPort: 65536}]}\n"),
       "f0.yaml:4:38: spec.ports[0].targetPort: neither"},
      {"a target port that is no name", spec("spec: {ports: [{port: 1, targetPort: HTTP_}]}\n"),
       "f0.yaml:4:38: spec.ports[0].targetPort: neither"},
      {"a name with capitals", kHead + "metadata: {name: Web}\n",
       "f0.yaml:3:18: metadata.name: not a valid name: use a-z, 0-9"},
      {"a name in two lines", kHead + "metadata: {name: \"a\\nb\"}\n",
       "f0.yaml:3:18: metadata.name: not a valid name"},
      {"a name too long", kHead + "metadata: {name: " + std::string(64, 'a') + "}\n",
       "f0.yaml:3:18: metadata.name: not a valid name"},
      {"a namespace with a slash", kHead + "metadata: {name: w, namespace: a/b}\n",
       "f0.yaml:3:32: metadata.namespace: not a valid name"},
      {"not a flag", spec("spec: {allocateLoadBalancerNodePorts: 'false'}\n"),
       "f0.yaml:4:39: spec.allocateLoadBalancerNodePorts: not a boolean"},
      {"a boolean in annotations",
       kHead + "metadata:\n  name: w\n  annotations:\n    kindlb.dev/x: yes\n",
       "f0.yaml:6:19: metadata.annotations: 'kindlb.dev/x' is not a string; yes is a boolean in "
       "YAML: write \"yes\""},
      {"a number in a list", spec("spec: {loadBalancerSourceRanges: [10.0.0.0/8, 10]}\n"),
       "f0.yaml:4:47: spec.loadBalancerSourceRanges: not a list of strings; 10 is a number"},
      {"a number for a name", kHead + "metadata: {name: 12}\n",
       "f0.yaml:3:18: metadata.name: not a string; 12 is a number in YAML: write \"12\""},
      {"a bad item of a list", "apiVersion: v1\nkind: List\nitems: {a: b}\n",
       "f0.yaml:3:8: items: not a list"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const auto error = error_of({c.text});
      CHECK_MESSAGE(error.starts_with(c.expected), error);
    }
  }
}

TEST_CASE("no value breaks the line of its error") {
  CHECK(error_of({kHead + "metadata: {name: w}\nspec: {type: \"Load\\nBal\\e[1m\"}\n"})
            .starts_with("f0.yaml:4:14: spec.type: 'Load\\nBal\\x1b[1m' is not known"));
  const auto notes = load({"apiVersion: v1\nkind: Pod\nmetadata: {name: \"a\\nb\"}\n"}).notes;
  REQUIRE(notes.size() == 1);
  CHECK(notes[0] == "f0.yaml:1:1: v1 Pod a\\nb is ignored");
}

TEST_CASE("what an API server lets in is not refused") {
  for (const char* target : {"0", "65535", "http", "a-b-c", "''", "8080"}) {
    CAPTURE(target);
    service("metadata: {name: w}\nspec: {ports: [{port: 1, targetPort: " + std::string(target) +
            "}]}\n");
  }
  for (const auto& name : {std::string("1web"), std::string("a-1"), std::string(63, 'a')})
    CHECK(service("metadata: {name: " + name + "}\n").key.name == name);
}

TEST_CASE("the same object twice names both places") {
  CHECK(error_of({"# one\n" + kHead + kWeb, kHead + kWeb}) ==
        "f1.yaml:1:1: Service default/web is also at f0.yaml:2:1");
  CHECK(error_of({kHead + kWeb + "---\n" + kHead + kWeb}) ==
        "f0.yaml:6:1: Service default/web is also at f0.yaml:1:1");
  const std::string node = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n";
  CHECK(error_of({node, node}) == "f1.yaml:1:1: Node n1 is also at f0.yaml:1:1");
}

TEST_CASE("a status in the API's shape") {
  const core::StatusApply apply{.key = {"c", "default", "web"},
                                .uid = "u",
                                .ingress = {{.ip = "172.18.255.254",
                                             .ip_mode = "Proxy",
                                             .ports = {{.port = 80, .error = ""}}}},
                                .conditions = {}};
  CHECK(kube::encode_status(apply) ==
        R"({"loadBalancer":{"ingress":[{"ip":"172.18.255.254","ipMode":"Proxy",)"
        R"("ports":[{"port":80,"protocol":"TCP"}]}]},"conditions":[]})");
}
