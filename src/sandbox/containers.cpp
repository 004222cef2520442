#include "kindlb/sandbox/containers.hpp"

#include "kindlb/core/hash.hpp"
#include "kindlb/docker/tar.hpp"
#include "kindlb/log/log.hpp"
#include "kindlb/proxy/containers.hpp"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>
#include <utility>
#include <vector>

namespace kindlb::sandbox {

namespace {
using core::Error;
using core::ErrorKind;
using core::Result;

constexpr const char* kDockerfile =
    "FROM scratch\nCOPY kindlb-echo /kindlb-echo\nUSER 65534\nENTRYPOINT [\"/kindlb-echo\"]\n";
constexpr std::int64_t kMemory = std::int64_t{64} << 20;

/// Return "kindlb-echo:<hash of the content>", after building it unless it exists.
Result<std::string> ensure_echo_image(docker::Images& images, const std::string& binary,
                                      const std::stop_token& stop) {
  std::ifstream in(binary, std::ios::binary);
  std::string program(std::istreambuf_iterator<char>(in), {});
  if (!in || program.empty())
    return Error{ErrorKind::Invalid, "read the echo program " + binary,
                 "no such file, or not readable; `make build` puts kindlb-echo next to kindlb"};
  core::Hasher hasher;
  hasher.add(program).add(kDockerfile);
  auto reference = "kindlb-echo:" + hasher.text();
  const auto found = images.inspect(reference);
  if (found) return reference;
  if (found.error().kind != ErrorKind::NotFound) return found.error();
  const auto context =
      docker::write_tar({{"Dockerfile", kDockerfile}, {"kindlb-echo", std::move(program), 0755}});
  const auto built = images.build(
      reference, context, {{proxy::kProxyLabel, "1"}},
      [](std::string_view line) { log::debug("{}", line); }, stop);
  if (!built) return built.error();
  return reference;
}

core::Cidr cidr(const std::string& text) {
  return *core::Cidr::parse(text);
}

docker::Subnet subnet(const std::string& text) {
  return {.cidr = cidr(text), .gateway = cidr(text).first().next()};
}

/// Return the networks to try, the best first. 198.51.100.0/24 is reserved for documentation (RFC
/// 5737): no real host is hidden by it, and examples can name its addresses. Another sandbox may
/// already use it, and not every engine supports IPv6.
std::vector<docker::NetworkSpec> wanted_networks(const std::string& name) {
  core::Hasher hasher;
  const auto digits = hasher.add(name).text();
  const auto ipv6 = subnet("fd" + digits.substr(0, 2) + ":" + digits.substr(2, 4) + "::/64");
  const docker::Labels labels{{kWorkloadLabel, name}};
  return {{name, labels, {subnet("198.51.100.0/24"), ipv6}, true},
          {name, labels, {ipv6}, true},
          {name, labels, {subnet("198.51.100.0/24")}, false},
          {name, labels, {}, false}};
}

Result<docker::Network> make_network(docker::Networks& networks, const std::string& name) {
  Error last;
  for (const auto& spec : wanted_networks(name)) {
    const auto made = networks.create(spec);
    if (made) return networks.inspect(*made);
    last = made.error();
    log::debug("{}", last.text());
    if (last.kind == ErrorKind::Conflict)
      break;  // the name is taken: another subnet would not help
  }
  return last;
}

EchoContainer echo_of(const docker::Container& container, const std::string& network) {
  EchoContainer out{
      container.id, container.name, container.state == docker::ContainerState::Running, {}, {}};
  for (const auto& attachment : container.networks) {
    if (attachment.network != network) continue;
    out.ipv4 = attachment.ipv4;
    out.ipv6 = attachment.ipv6;
  }
  return out;
}

std::string label_of(const std::string& name) {
  return std::string(kWorkloadLabel) + "=" + name;
}

/// Run the tasks on a few threads: they mostly wait for the engine, and there may be dozens.
void run_in_parallel(const std::vector<std::function<void()>>& tasks) {
  constexpr std::size_t kAtOnce = 4;
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < std::min(kAtOnce, tasks.size()); ++i)
    threads.emplace_back([&] {
      for (auto at = next++; at < tasks.size(); at = next++) tasks[at]();
    });
}

void remove_containers(docker::Containers& containers, docker::Volumes& volumes,
                       const std::string& name) {
  std::vector<std::function<void()>> tasks;
  if (const auto proxies = proxy::list_proxies(containers))
    for (const auto& one : *proxies)
      if (one.network == name)
        tasks.emplace_back([&, one] { (void)proxy::remove_proxy(containers, volumes, one); });
  if (const auto workloads = containers.list({label_of(name)}))
    for (const auto& one : *workloads)
      tasks.emplace_back([&, id = one.id] { (void)containers.remove(id); });
  run_in_parallel(tasks);
}
}  // namespace

std::string sandbox_name(int port) {
  return port == kSandboxPort ? "kindlb-sandbox" : "kindlb-sandbox-" + std::to_string(port);
}

Result<std::unique_ptr<Containers>> Containers::make(docker::Engine& engine,
                                                     const std::string& name,
                                                     const std::string& echo_binary,
                                                     const std::stop_token& stop) {
  auto image = ensure_echo_image(engine.images(), echo_binary, stop);
  if (!image) return image.error();
  auto network = make_network(engine.networks(), name);
  if (!network) return network.error();
  return std::unique_ptr<Containers>(
      new Containers(engine, std::move(*network), std::move(*image)));
}

Containers::~Containers() {
  clear_sandbox(engine_, network_.name);
}

std::vector<std::string> Containers::node_addresses() const {
  std::vector<std::string> out;
  for (const auto family : {core::IpFamily::V4, core::IpFamily::V6})
    for (const auto& one : network_.subnets)
      if (one.gateway && one.gateway->family() == family) out.push_back(one.gateway->text());
  return out;
}

Result<std::map<std::string, EchoContainer>> Containers::workloads() {
  const auto containers = engine_.containers().list({label_of(network_.name)});
  if (!containers) return containers.error();
  std::map<std::string, EchoContainer> out;
  for (const auto& container : *containers) out[container.name] = echo_of(container, network_.name);
  return out;
}

Result<void> Containers::start(const std::string& name) {
  docker::ContainerSpec spec;
  spec.name = name;
  spec.image = image_;
  spec.labels = {{kWorkloadLabel, network_.name}};
  spec.network = network_.name;
  spec.environment = {"HOSTNAME=" + name};
  spec.capabilities_drop = {"ALL"};
  spec.read_only_root = true;
  spec.no_new_privileges = true;
  spec.memory_bytes = kMemory;
  const auto made = engine_.containers().create(spec);
  if (!made) return made.error();
  auto started = engine_.containers().start(*made);
  if (!started) (void)engine_.containers().remove(*made);
  return started;
}

void Containers::start_all(const std::vector<std::string>& names) {
  std::vector<std::function<void()>> tasks;
  for (const auto& name : names) tasks.emplace_back([this, name] { (void)start(name); });
  run_in_parallel(tasks);
}

Result<void> Containers::restart(const EchoContainer& one) {
  return engine_.containers().start(one.id);
}

Result<void> Containers::kill(const EchoContainer& one) {
  return engine_.containers().kill(one.id, "KILL");
}

Result<void> Containers::remove(const EchoContainer& one) {
  return engine_.containers().remove(one.id);
}

void clear_sandbox(docker::Engine& engine, const std::string& name) {
  // A request that is already on its way (a pod being started, a warm proxy) may create a container
  // after the list was read. The engine refuses to remove a network that is in use, so its refusal
  // means: list again.
  constexpr int kTries = 5;
  for (int i = 0; i < kTries; ++i) {
    remove_containers(engine.containers(), engine.volumes(), name);
    const auto gone = engine.networks().remove(name);
    if (gone || gone.error().kind == ErrorKind::NotFound) return;
    if (i + 1 == kTries)
      log::warn("cannot remove the network {}; run kindlb cleanup later: {}", name,
                gone.error().text());
  }
}

}  // namespace kindlb::sandbox
