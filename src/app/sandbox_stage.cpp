#include "app/sandbox_stage.hpp"

#include "kindlb/core/hash.hpp"
#include "kindlb/docker/tar.hpp"
#include "kindlb/proxy/containers.hpp"

#include <spdlog/spdlog.h>

#include <fstream>
#include <iterator>
#include <utility>

namespace kindlb::app {

namespace {
using core::Error;
using core::ErrorKind;
using core::Result;

constexpr const char* kDockerfile =
    "FROM scratch\nCOPY kindlb-echo /kindlb-echo\nUSER 65534\nENTRYPOINT [\"/kindlb-echo\"]\n";
constexpr std::int64_t kMemory = std::int64_t{64} << 20;

/// "kindlb-echo:<hash>", built unless there is one of that content.
Result<std::string> ensure_echo_image(docker::Engine& engine, const std::string& binary,
                                      const std::stop_token& stop) {
  std::ifstream in(binary, std::ios::binary);
  std::string program(std::istreambuf_iterator<char>(in), {});
  if (!in || program.empty())
    return Error{ErrorKind::Invalid, "read the echo program " + binary,
                 "no such file or not readable; `make build` leaves kindlb-echo next to kindlb"};
  core::Hasher hasher;
  hasher.add(program).add(kDockerfile);
  const auto reference = "kindlb-echo:" + hasher.text();
  const auto found = engine.inspect_image(reference);
  if (found) return reference;
  if (found.error().kind != ErrorKind::NotFound) return found.error();
  const auto context =
      docker::write_tar({{"Dockerfile", kDockerfile}, {"kindlb-echo", std::move(program), 0755}});
  const auto built = engine.build_image(
      reference, context, {{proxy::kProxyLabel, "1"}},
      [](std::string_view line) { spdlog::debug("{}", line); }, stop);
  if (!built) return built.error();
  return reference;
}

Result<docker::Network> ensure_network(docker::Engine& engine) {
  auto found = engine.inspect_network(kSandboxNetwork);
  if (found || found.error().kind != ErrorKind::NotFound) return found;
  docker::NetworkSpec spec;
  spec.name = kSandboxNetwork;
  spec.labels = {{kWorkloadLabel, "1"}};
  const auto made = engine.create_network(spec);
  if (!made) return made.error();
  return engine.inspect_network(*made);
}

EchoContainer echo_of(const docker::Container& container) {
  EchoContainer out{
      container.id, container.name, container.state == docker::ContainerState::Running, {}, {}};
  for (const auto& attachment : container.networks) {
    if (attachment.network != kSandboxNetwork) continue;
    out.ipv4 = attachment.ipv4;
    out.ipv6 = attachment.ipv6;
  }
  return out;
}
}  // namespace

Result<std::unique_ptr<SandboxStage>> SandboxStage::make(docker::Engine& engine,
                                                         const std::string& echo_binary,
                                                         const std::stop_token& stop) {
  auto image = ensure_echo_image(engine, echo_binary, stop);
  if (!image) return image.error();
  auto network = ensure_network(engine);
  if (!network) return network.error();
  return std::unique_ptr<SandboxStage>(
      new SandboxStage(engine, std::move(*network), std::move(*image)));
}

SandboxStage::~SandboxStage() {
  clear_sandbox(engine_);
}

std::string SandboxStage::node_address() const {
  for (const auto& subnet : network_.subnets)
    if (subnet.gateway && subnet.gateway->family() == core::IpFamily::V4)
      return subnet.gateway->text();
  return {};
}

Result<std::map<std::string, EchoContainer>> SandboxStage::workloads() {
  const auto containers = engine_.list_containers({std::string(kWorkloadLabel) + "=1"});
  if (!containers) return containers.error();
  std::map<std::string, EchoContainer> out;
  for (const auto& container : *containers) out[container.name] = echo_of(container);
  return out;
}

Result<void> SandboxStage::start(const std::string& name) {
  docker::ContainerSpec spec;
  spec.name = name;
  spec.image = image_;
  spec.labels = {{kWorkloadLabel, "1"}};
  spec.network = kSandboxNetwork;
  spec.environment = {"HOSTNAME=" + name};
  spec.capabilities_drop = {"ALL"};
  spec.read_only_root = true;
  spec.no_new_privileges = true;
  spec.memory_bytes = kMemory;
  const auto made = engine_.create_container(spec);
  if (!made) return made.error();
  const auto started = engine_.start_container(*made);
  if (!started) (void)engine_.remove_container(*made);
  return started;
}

Result<void> SandboxStage::restart(const EchoContainer& one) {
  return engine_.start_container(one.id);
}

Result<void> SandboxStage::remove(const EchoContainer& one) {
  return engine_.remove_container(one.id);
}

void clear_sandbox(docker::Engine& engine) {
  if (const auto proxies = proxy::list_proxies(engine))
    for (const auto& one : *proxies)
      if (one.network == kSandboxNetwork) (void)proxy::remove_proxy(engine, one);
  if (const auto containers = engine.list_containers({std::string(kWorkloadLabel) + "=1"}))
    for (const auto& one : *containers) (void)engine.remove_container(one.id);
  const auto gone = engine.remove_network(kSandboxNetwork);
  if (!gone && gone.error().kind != ErrorKind::NotFound)
    spdlog::warn("the network {} stays behind: {}", kSandboxNetwork, gone.error().text());
}

}  // namespace kindlb::app
