// `kindlb sandbox` as a user runs it: kubectl, a Service, traffic through Envoy, and nothing left.

#include "support/docker_rig.hpp"
#include "support/paths.hpp"
#include "support/servers/child.hpp"
#include "support/servers/kube_server.hpp"
#include "support/traffic/ask.hpp"
#include "support/traffic/tcp.hpp"

#include <signal.h>
#include <stdlib.h>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <sstream>
#include <thread>

using namespace kindlb;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {
using Clock = std::chrono::steady_clock;
constexpr auto kPatience = 90s;

std::string read(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool until(const std::function<bool()>& holds) {
  const auto deadline = Clock::now() + kPatience;
  while (!holds()) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(100ms);
  }
  return true;
}

class Sandbox {
 public:
  Sandbox() {
    auto pattern = (fs::temp_directory_path() / "kindlb-sandbox-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    folder = pattern;
    listen = "127.0.0.1:" + std::to_string(test::free_port());
    program = std::make_unique<test::Child>(
        std::vector<std::string>{
            test::program("kindlb"), "sandbox", "--listen", listen, "--kubeconfig-out", config(),
            "--agent", test::program("kindlb-agent"), "--echo", test::program("kindlb-echo"),
            "--envoy-image", testing::envoy_image(), "--warm-proxies", "1"},
        folder / "log");
  }
  ~Sandbox() {
    program->signal(SIGTERM);
    program->wait(40s);
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }

  std::string config() const { return (folder / "kubeconfig").string(); }
  std::string kubectl(std::vector<std::string> arguments, int* code = nullptr) const {
    arguments.insert(arguments.begin(), {test::find_kube_binary("kubectl"), "--kubeconfig",
                                         config(), "--cache-dir", (folder / "cache").string()});
    const int ended = run(std::move(arguments));
    if (code != nullptr) *code = ended;
    return read(folder / "output");
  }
  int verb(const std::vector<std::string>& words) const {
    std::vector<std::string> command{test::program("kindlb"), "sandbox"};
    command.insert(command.end(), words.begin(), words.end());
    command.insert(command.end(), {"--listen", listen});
    return run(std::move(command));
  }
  std::string ready_pods() const {
    return kubectl({"get", "endpointslices", "-l", "kubernetes.io/service-name=web", "-o",
                    "jsonpath={.items[0].endpoints[?(@.conditions.ready==true)].targetRef.name}"});
  }

  fs::path folder;
  std::string listen;
  std::unique_ptr<test::Child> program;

 private:
  int run(std::vector<std::string> command) const {
    test::Child child(std::move(command), folder / "output");
    return child.wait(60s).value_or(-1);
  }
};

std::size_t count_words(const std::string& text) {
  std::istringstream in(text);
  return static_cast<std::size_t>(
      std::distance(std::istream_iterator<std::string>(in), std::istream_iterator<std::string>()));
}

constexpr const char* kManifest = R"(
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  type: LoadBalancer
  allocateLoadBalancerClusterIP: false
  selector: {app: echo}
  ports:
  - {name: http, port: 80, targetPort: 8080}
  - {name: udp, port: 5300, protocol: UDP, targetPort: udp}
)";
}  // namespace

TEST_CASE("a Service is served in the sandbox, and nothing stays behind") {
  testing::DockerRig rig;
  std::string name;
  {
    Sandbox sandbox;
    name = "kindlb-sandbox-" + sandbox.listen.substr(sandbox.listen.find(':') + 1);
    REQUIRE_MESSAGE(
        until([&] { return fs::exists(sandbox.config()) || !sandbox.program->running(); }),
        read(sandbox.folder / "log"));
    REQUIRE_MESSAGE(sandbox.program->running(), read(sandbox.folder / "log"));
    std::ofstream(sandbox.folder / "web.yaml") << kManifest;
    int code = 0;
    sandbox.kubectl({"apply", "-f", (sandbox.folder / "web.yaml").string()}, &code);
    REQUIRE(code == 0);
    const auto waited = sandbox.kubectl(
        {"wait", "--for=condition=LoadBalancerServing", "svc/web", "--timeout=60s"}, &code);
    REQUIRE_MESSAGE(code == 0, waited << sandbox.kubectl({"get", "svc", "web", "-o", "yaml"})
                                      << read(sandbox.folder / "log"));
    const auto ip = core::IpAddress::parse(sandbox.kubectl(
        {"get", "svc", "web", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}"}));
    REQUIRE(ip.has_value());
    const auto page = testing::http_get({*ip, 80});
    CHECK_MESSAGE(page.starts_with("GET / HTTP/1."), page << read(sandbox.folder / "log"));
    CHECK(testing::ask_udp({*ip, 5300}, "hello") == "hello");
    CHECK(sandbox.kubectl({"get", "svc", "web", "-o", "jsonpath={.spec.clusterIP}"}).empty());

    CHECK(count_words(sandbox.ready_pods()) == 2);
    CHECK(sandbox.verb({"scale", "3"}) == 0);
    CHECK(until([&] { return count_words(sandbox.ready_pods()) == 3; }));
    const auto pods = sandbox.ready_pods();
    const auto first = pods.substr(0, pods.find(' '));
    CHECK(sandbox.verb({"unready", first}) == 0);
    CHECK(until([&] { return count_words(sandbox.ready_pods()) == 2; }));
    CHECK(sandbox.verb({"ready", first}) == 0);
    CHECK(until([&] { return count_words(sandbox.ready_pods()) == 3; }));
    CHECK(sandbox.verb({"kill", first}) == 0);
    CHECK(until([&] { return count_words(sandbox.ready_pods()) == 2; }));
    CHECK(until([&] { return count_words(sandbox.ready_pods()) == 3; }));
    CHECK(sandbox.verb({"unready", "nobody"}) != 0);

    sandbox.program->signal(SIGINT);
    CHECK_MESSAGE(sandbox.program->wait(40s) == 0, read(sandbox.folder / "log"));
    CHECK_FALSE(fs::exists(sandbox.config()));
  }
  CHECK(rig.engine().networks().inspect(name).error().kind == core::ErrorKind::NotFound);
  CHECK(testing::must(rig.engine().containers().list({"kindlb.dev/sandbox-workload=" + name}))
            .empty());
}
