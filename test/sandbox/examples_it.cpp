// Every example, applied by kubectl to a sandbox, with traffic through Envoy.

#include "sandbox/examples.hpp"
#include "sandbox/sandbox_program.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

using namespace kindlb;

namespace {
/// 198.51.100.200, unless another sandbox on this engine has that network.
std::string address_to_choose(docker::Networks& networks, const std::string& network) {
  for (const auto& subnet : testing::must(networks.inspect(network)).subnets) {
    if (subnet.cidr.address.family() != core::IpFamily::V4) continue;
    auto address = subnet.cidr.first();
    for (int i = 0; i < 200; ++i) address = *address.next();
    return address.text();
  }
  return {};
}

std::string kubectl(const it::SandboxProgram& sandbox, const std::vector<std::string>& words) {
  std::vector<std::string> command{test::find_kube_binary("kubectl"), "--kubeconfig",
                                   sandbox.config(), "--cache-dir",
                                   (sandbox.folder / "cache").string()};
  command.insert(command.end(), words.begin(), words.end());
  test::Child child(command, sandbox.folder / "output");
  const auto code = child.wait(std::chrono::seconds(120));
  auto output = it::read_text(sandbox.folder / "output");
  REQUIRE_MESSAGE(code == 0, output);
  return output;
}

void apply_all(const it::SandboxProgram& sandbox, const std::string& chosen) {
  const auto folder = sandbox.folder / "examples";
  std::filesystem::create_directory(folder);
  for (const auto& name : it::example_names())
    std::ofstream(folder / (name + ".yaml")) << it::example_text(name, chosen);
  kubectl(sandbox, {"apply", "-f", folder.string()});
}
}  // namespace

TEST_CASE("each example has a promise, and each promise an example") {
  std::vector<std::string> promised;
  for (const auto& one : it::promises()) promised.push_back(one.name);
  std::ranges::sort(promised);
  CHECK(promised == it::example_names());
}

TEST_CASE("the sandbox keeps what the examples promise") {
  testing::DockerRig rig;
  it::SandboxProgram sandbox;
  sandbox.start("sandbox", {"--services-per-proxy", "0"});
  sandbox.await_up();
  const auto client = sandbox.client();
  it::Diary diary(client, "default");
  apply_all(sandbox, address_to_choose(rig.engine().networks(), sandbox.name()));
  const it::Cluster cluster{test::Rest(client), "default", diary};
  for (const auto& promise : it::promises()) it::check_promise(cluster, promise);
  CHECK(kubectl(sandbox, {"describe", "services"}).find("Endpoints:") != std::string::npos);

  sandbox.child->signal(SIGINT);
  CHECK_MESSAGE(sandbox.await_end() == 0, sandbox.log());
  sandbox.check_gone(rig.engine());
}
