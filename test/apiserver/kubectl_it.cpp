#include "apiserver/kubectl.hpp"
#include "support/servers/child.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <thread>

using namespace kindlb;
using namespace kindlb::test;

namespace {
using Clock = std::chrono::steady_clock;

std::unique_ptr<apiserver::Server> start() {
  auto server = apiserver::start_server({});
  REQUIRE(server.ok());
  return std::move(*server);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr const char* kWeb = R"(apiVersion: v1
kind: Service
metadata:
  name: web
  labels: {tier: front}
spec:
  type: LoadBalancer
  allocateLoadBalancerClusterIP: false
  requiredLoadBalancerFeatures: [Ports]
  selector: {app: echo}
  ports:
  - {name: http, port: 80, targetPort: 8080}
)";

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  return text.replace(text.find(what), what.size(), with);
}
}  // namespace

TEST_CASE("kubectl get shows the columns people know") {
  const auto server = start();
  const Kubectl kubectl(*server);
  CHECK(has(kubectl.must({"get", "ns"}), "default           Active"));
  kubectl.must({"apply", "-f", kubectl.file("web.yaml", kWeb)});
  const auto table = kubectl.must({"get", "services", "-o", "wide"});
  CHECK(has(table, "NAME         TYPE           CLUSTER-IP   EXTERNAL-IP   PORT(S)"));
  CHECK(has(table, "web          LoadBalancer   <none>       <pending>     80:3"));
  CHECK(has(table, "app=echo"));
  CHECK(kubectl.must({"get", "svc", "-l", "tier=front", "-o",
                      "jsonpath={.items[*].spec.requiredLoadBalancerFeatures[0]}"}) == "Ports");
  CHECK(has(kubectl.must({"get", "svc", "web", "-o", "yaml"}),
            "allocateLoadBalancerClusterIP: false"));
  CHECK(has(kubectl.must({"describe", "svc", "web"}), "TargetPort:               8080/TCP"));
  CHECK(has(kubectl.must({"api-resources"}), "endpointslices"));
  const auto absent = kubectl.run({"get", "svc", "none"});
  CHECK(absent.code == 1);
  CHECK(absent.text == "Error from server (NotFound): services \"none\" not found\n");
}

TEST_CASE("kubectl apply, its own way and the server's") {
  const auto server = start();
  const Kubectl kubectl(*server);
  const auto file = kubectl.file("web.yaml", kWeb);
  CHECK(kubectl.must({"apply", "-f", file}) == "service/web created\n");
  CHECK(kubectl.must({"apply", "-f", file}) == "service/web unchanged\n");
  // A list that kubectl's own types do not know: it needs the server's schema for the patch.
  const auto changed =
      kubectl.file("changed.yaml", replaced(kWeb, "[Ports]", "[Ports, SessionAffinity]"));
  CHECK(kubectl.must({"apply", "-f", changed}) == "service/web configured\n");
  CHECK(
      kubectl.must({"get", "svc", "web", "-o", "jsonpath={.spec.requiredLoadBalancerFeatures}"}) ==
      R"(["Ports","SessionAffinity"])");
  CHECK(kubectl.must({"apply", "--server-side", "-f", changed}) ==
        "service/web serverside-applied\n");
  kubectl.must({"patch", "svc", "web", "-p", R"({"spec":{"sessionAffinity":"ClientIP"}})"});
  const auto other =
      kubectl.file("other.yaml", replaced(kWeb, "selector:", "sessionAffinity: None\n  selector:"));
  const auto conflict = kubectl.run({"apply", "--server-side", "-f", other});
  CHECK(conflict.code == 1);
  CHECK(has(conflict.text, "conflict with \"kubectl-patch\" using v1: .spec.sessionAffinity"));
  kubectl.must({"apply", "--server-side", "--force-conflicts", "-f", other});
  CHECK(kubectl.must({"get", "svc", "web", "-o", "jsonpath={.spec.sessionAffinity}"}) == "None");
}

// KEP-4144: a port that exists is released only by an explicit request, never by `kubectl apply`,
// which leaves alone what its file does not name.
TEST_CASE("kubectl apply keeps what others set: the health-check node port") {
  const auto server = start();
  const Kubectl kubectl(*server);
  const auto field = [&](const std::string& name) {
    return kubectl.must({"get", "svc", "web", "-o", "jsonpath={.spec." + name + "}"});
  };
  const auto patch = [&](const std::string& spec) {
    kubectl.must({"patch", "svc", "web", "--type", "merge", "-p", R"({"spec":)" + spec + "}"});
  };
  const auto file = kubectl.file(
      "local.yaml",
      replaced(kWeb, "allocateLoadBalancerClusterIP: false", "externalTrafficPolicy: Local"));
  std::vector<std::string> apply = {"apply", "-f", file};
  SUBCASE("its own way") {}
  SUBCASE("the server's way") {
    apply.insert(apply.begin() + 1, "--server-side");
  }
  kubectl.must(apply);
  const auto port = field("healthCheckNodePort");
  CHECK_FALSE(port.empty());
  CHECK(field("allocateLoadBalancerHCNodePort") == "true");

  patch(R"({"allocateLoadBalancerHCNodePort":false})");
  CHECK(field("healthCheckNodePort") == port);
  kubectl.must(apply);
  CHECK(field("allocateLoadBalancerHCNodePort") == "false");
  CHECK(field("healthCheckNodePort") == port);

  patch(R"({"healthCheckNodePort":null})");
  CHECK(field("healthCheckNodePort").empty());
  kubectl.must(apply);
  CHECK(field("allocateLoadBalancerHCNodePort") == "false");
  CHECK(field("healthCheckNodePort").empty());

  patch(R"({"allocateLoadBalancerHCNodePort":true})");
  CHECK_FALSE(field("healthCheckNodePort").empty());
}

// KEP-3622: false can only be chosen at the beginning; taking it out of the file is choosing true.
TEST_CASE("kubectl apply keeps, and gives up, a Service without a cluster IP") {
  const auto server = start();
  const Kubectl kubectl(*server);
  const auto field = [&](const std::string& name) {
    return kubectl.must({"get", "svc", "web", "-o", "jsonpath={.spec." + name + "}"});
  };
  std::vector<std::string> apply = {"apply", "-f"};
  SUBCASE("its own way") {}
  SUBCASE("the server's way") {
    apply.insert(apply.begin() + 1, "--server-side");
  }
  const auto applied = [&](const std::string& name, const std::string& text) {
    auto words = apply;
    words.push_back(kubectl.file(name, text));
    return kubectl.run(words);
  };
  CHECK(applied("web.yaml", kWeb).code == 0);
  CHECK(applied("port.yaml", replaced(kWeb, "port: 80,", "port: 81,")).code == 0);
  CHECK(field("allocateLoadBalancerClusterIP") == "false");
  CHECK(field("clusterIP").empty());

  const auto silent = replaced(kWeb, "  allocateLoadBalancerClusterIP: false\n", "");
  CHECK(applied("silent.yaml", silent).code == 0);
  CHECK(field("allocateLoadBalancerClusterIP") == "true");
  const auto address = field("clusterIP");
  CHECK_FALSE(address.empty());

  const auto refused = applied("web.yaml", kWeb);
  CHECK(refused.code == 1);
  CHECK(has(refused.text, "may not be set to 'false' once a clusterIP is assigned"));
  CHECK(field("clusterIP") == address);
}

TEST_CASE("kubectl says what is wrong with a Service") {
  const auto server = start();
  const Kubectl kubectl(*server);
  const auto bad = kubectl.run(
      {"apply", "-f", kubectl.file("bad.yaml", replaced(kWeb, "port: 80,", "port: 80000,"))});
  CHECK(bad.code == 1);
  CHECK(has(bad.text,
            "The Service \"web\" is invalid: spec.ports[0].port: Invalid value: 80000: must be "
            "between 1 and 65535, inclusive"));
  const auto unknown = kubectl.run(
      {"apply", "-f", kubectl.file("unknown.yaml", replaced(kWeb, "type:", "tpye: x\n  type:"))});
  CHECK(unknown.code == 1);
  CHECK(has(unknown.text, "strict decoding error: unknown field \"spec.tpye\""));
}

TEST_CASE("kubectl create, label, annotate, edit, patch, delete") {
  const auto server = start();
  const Kubectl kubectl(*server);
  // These go over the wire as protobuf.
  CHECK(kubectl.must({"create", "namespace", "demo"}) == "namespace/demo created\n");
  CHECK(kubectl.must({"-n", "demo", "create", "service", "loadbalancer", "web", "--tcp=80:8080"}) ==
        "service/web created\n");
  CHECK(kubectl.must({"-n", "demo", "get", "svc", "web", "-o",
                      "jsonpath={.spec.ports[0].name}/{.spec.ports[0].targetPort}"}) ==
        "80-8080/8080");
  kubectl.must({"-n", "demo", "label", "svc", "web", "a=b"});
  kubectl.must({"-n", "demo", "annotate", "svc", "web", "x=y"});
  for (const char* type : {"strategic", "merge"})
    kubectl.must({"-n", "demo", "patch", "svc", "web", "--type", type, "-p",
                  std::string(R"({"metadata":{"labels":{"by":")") + type + R"("}}})"});
  kubectl.must({"-n", "demo", "patch", "svc", "web", "--type", "json", "-p",
                R"([{"op":"add","path":"/metadata/labels/c","value":"d"}])"});
  CHECK(has(kubectl.must({"-n", "demo", "get", "svc", "web", "--show-labels"}),
            "a=b,app=web,by=merge,c=d"));
  setenv("KUBE_EDITOR", "sed -i s/a:.b/a:\\ z/", 1);
  CHECK(kubectl.must({"-n", "demo", "edit", "svc", "web"}) == "service/web edited\n");
  CHECK(kubectl.must({"delete", "namespace", "demo", "--timeout=20s"}) ==
        "namespace \"demo\" deleted\n");
  CHECK(kubectl.run({"-n", "demo", "get", "svc", "web"}).code == 1);
}

TEST_CASE("kubectl events, diff, replace, delete by label") {
  const auto server = start();
  const Kubectl kubectl(*server);
  const auto web = kubectl.file("web.yaml", kWeb);
  kubectl.must({"apply", "-f", web});
  const auto uid = kubectl.must({"get", "svc", "web", "-o", "jsonpath={.metadata.uid}"});
  kubectl.must({"create", "-f",
                kubectl.file("event.yaml", R"(apiVersion: v1
kind: Event
metadata: {name: web.1, namespace: default}
involvedObject: {apiVersion: v1, kind: Service, name: web, namespace: default, uid: )" +
                                               uid + R"(}
reason: Serving
message: it answers
type: Normal
count: 1
)")});
  CHECK(has(kubectl.must({"events"}), "it answers"));
  CHECK(has(kubectl.must({"events", "--for", "service/web"}), "Service/web"));
  CHECK(has(kubectl.must({"describe", "svc", "web"}), "it answers"));
  CHECK(kubectl.run({"diff", "-f", web}).code == 0);
  const auto changed = kubectl.file("changed.yaml", replaced(kWeb, "port: 80,", "port: 81,"));
  const auto difference = kubectl.run({"diff", "-f", changed});
  CHECK(difference.code == 1);
  CHECK(has(difference.text, "port: 81"));
  CHECK(kubectl.must({"replace", "-f", changed}) == "service/web replaced\n");
  CHECK(kubectl.must({"get", "svc", "web", "-o", "jsonpath={.spec.ports[0].port}"}) == "81");
  kubectl.must({"delete", "svc", "-l", "tier=front"});
  CHECK(kubectl.run({"get", "svc", "web"}).code == 1);
}

TEST_CASE("kubectl explain knows Services, the proposals' fields included") {
  const auto server = start();
  const Kubectl kubectl(*server);
  CHECK(has(kubectl.must({"explain", "service.spec.allocateLoadBalancerHCNodePort"}), "KEP-4144"));
  CHECK(has(kubectl.must({"explain", "services", "--recursive"}), "requiredLoadBalancerFeatures"));
}

TEST_CASE("kubectl wait and get -w see what happens") {
  const auto server = start();
  const Kubectl kubectl(*server);
  kubectl.must({"apply", "-f", kubectl.file("web.yaml", kWeb)});
  auto watch = kubectl.words();
  watch.insert(watch.end(), {"get", "svc", "web", "-w"});
  const auto seen_path = kubectl.folder() / "seen";
  Child watcher(watch, seen_path);
  const auto seen = [&] {
    std::ifstream in(seen_path);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const auto until = [&](const std::string& text) {
    const auto deadline = Clock::now() + std::chrono::seconds(30);
    while (!has(seen(), text) && Clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return has(seen(), text);
  };
  CHECK(until("<pending>"));
  CHECK(kubectl.run({"wait", "--for=condition=LoadBalancerServing", "svc/web", "--timeout=1s"})
            .code == 1);
  kubectl.must({"patch", "svc", "web", "--subresource=status", "--type=merge", "-p",
                R"({"status":{"conditions":[{"type":"LoadBalancerServing","status":"True",
                  "reason":"Serving","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}],
                  "loadBalancer":{"ingress":[{"ip":"172.18.255.1"}]}}})"});
  CHECK(kubectl.must({"wait", "--for=condition=LoadBalancerServing", "svc/web", "--timeout=20s"}) ==
        "service/web condition met\n");
  CHECK(until("172.18.255.1"));
}

TEST_CASE("kubectl over TLS") {
  apiserver::ServerOptions options;
  options.tls = true;
  const auto server = apiserver::start_server(options);
  REQUIRE(server.ok());
  const Kubectl kubectl(**server);
  kubectl.must({"apply", "-f", kubectl.file("web.yaml", kWeb)});
  CHECK(has(kubectl.must({"get", "svc", "web"}), "LoadBalancer"));
}
