#include "support/docker_rig.hpp"

#include "kindlb/docker/stream_demux.hpp"
#include "kindlb/proxy/containers.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>

namespace kindlb::testing {

namespace {

constexpr int kExecSilenceMs = 30'000;

/// Engines of this age do not choose IPv6 subnets. Private, and different in each process.
core::Cidr unique_subnet() {
  std::array<std::uint8_t, 16> bytes{0xfd, 0x6b, 0x6c, 0x62};
  const auto pid = static_cast<std::uint32_t>(::getpid());
  static std::uint8_t number = 0;
  bytes[4] = static_cast<std::uint8_t>(pid >> 8U);
  bytes[5] = static_cast<std::uint8_t>(pid);
  bytes[7] = ++number;
  return {core::IpAddress::from_bytes(core::IpFamily::V6, bytes), 64};
}

}  // namespace

void must(const core::Result<void>& result) {
  if (!result) FAIL(result.error().text());
}

std::string envoy_image() {
  const char* chosen = std::getenv("KINDLB_ENVOY_IMAGE");  // NOLINT(concurrency-mt-unsafe)
  return chosen != nullptr && *chosen != '\0' ? chosen : "kindlb/envoy:v1.40.0";
}

DockerRig::DockerRig()
    : engine_(must(docker::connect(must(docker::find_endpoint(""))))), run_(proxy::random_tag()) {}

DockerRig::~DockerRig() {
  clean_up();
}

docker::Network DockerRig::make_network(const std::string& prefix, bool ipv6) {
  network_ = prefix + run_;
  docker::NetworkSpec spec{.name = network_, .labels = {{"kindlb-test", run_}}};
  if (ipv6) {
    const auto subnet = unique_subnet();
    spec.subnets = {{.cidr = subnet, .gateway = subnet.first().next()}};
    spec.enable_ipv6 = true;
  }
  must(engine_->networks().create(spec));
  return must(engine_->networks().inspect(network_));
}

std::string DockerRig::start(docker::ContainerSpec spec) {
  spec.name = "kindlb-test-" + proxy::random_tag();
  spec.labels.emplace("kindlb-test", run_);
  const auto id = must(engine_->containers().create(spec));
  must(engine_->containers().start(id));
  return id;
}

std::string DockerRig::output_of(const std::string& id, const std::vector<std::string>& command) {
  const auto stream = must(engine_->execs().start(id, command, "0"));
  docker::StreamDemux demux;
  std::string out;
  std::array<char, 4096> buffer;
  while (true) {
    const auto got = stream->read(buffer);
    if (!got) return out;  // the end of the stream
    REQUIRE(demux.feed({buffer.data(), *got}, [&](auto, std::string_view text) { out += text; }));
    pollfd waiting{.fd = stream->fd(), .events = POLLIN, .revents = 0};
    if (*got == 0) REQUIRE(::poll(&waiting, 1, kExecSilenceMs) > 0);
  }
}

std::vector<std::string> DockerRig::leftovers() {
  std::vector<std::string> out;
  for (const auto& container : must(engine_->containers().list({selector()})))
    out.push_back("container " + container.name);
  for (const auto& network : must(engine_->networks().list({selector()})))
    out.push_back("network " + network.name);
  for (const auto& proxy : must(proxy::list_proxies(engine_->containers())))
    if (!network_.empty() && proxy.network == network_) out.push_back("proxy " + proxy.name);
  return out;
}

void DockerRig::clean_up() {
  if (const auto proxies = proxy::list_proxies(engine_->containers()))
    for (const auto& proxy : *proxies)
      if (!network_.empty() && proxy.network == network_)
        (void)remove_proxy(engine_->containers(), engine_->volumes(), proxy);
  if (const auto containers = engine_->containers().list({selector()}))
    for (const auto& container : *containers) (void)engine_->containers().remove(container.id);
  if (const auto networks = engine_->networks().list({selector()}))
    for (const auto& network : *networks) (void)engine_->networks().remove(network.id);
}

}  // namespace kindlb::testing
