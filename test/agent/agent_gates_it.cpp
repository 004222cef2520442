// UDP ports whose datagrams the kernel filters and diverts, and what the agent does where it
// cannot.
#include "agent/it_world.hpp"
#include "kindlb/envoy/render.hpp"
#include "support/ask.hpp"
#include "support/backend.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

using namespace kindlb;
using namespace kindlb::agent::it;
using proxy::Applied;
using namespace std::chrono_literals;

namespace {

constexpr std::uint16_t kPort = 53;

core::IpAddress gateway() {
  const auto text = must_run({"docker", "network", "inspect", "--format",
                              "{{(index .IPAM.Config 0).Gateway}}", World::get().network()});
  const auto parsed = core::IpAddress::parse(text);
  REQUIRE(parsed);
  return *parsed;
}

/// One UDP port, asked from this machine, which is behind it as well.
class UdpUnit {
 public:
  UdpUnit() : address_(World::get().new_address()), backend_(gateway(), "a") {}

  core::Listener& listener() { return listener_; }
  void set_affinity(core::Affinity affinity) { affinity_ = affinity; }

  void apply(Channel& channel) {
    core::ProxyConfig config;
    config.unit = "dns";
    listener_.name = "dns/UDP";
    listener_.backend = "dns/UDP";
    listener_.address = address_.address;
    listener_.port = kPort;
    listener_.protocol = core::Protocol::Udp;
    config.listeners = {listener_};
    config.backends = {{.name = "dns/UDP",
                        .protocol = core::Protocol::Udp,
                        .affinity = affinity_,
                        .targets = {backend_.target()}}};
    auto rendered = envoy::render(config, {proxy::kXdsDir, proxy::kEndpointsDir});
    proxy::Apply message;
    message.id = ++id_;
    auto& unit = message.unit;
    unit.unit = config.unit;
    unit.owner = "kind/default/dns";
    unit.revision = "r" + std::to_string(id_);
    unit.addresses = {address_};
    for (auto& r : rendered.listeners) unit.listeners.push_back({r.name, r.body});
    for (auto& r : rendered.gated_listeners) unit.gated_listeners.push_back({r.name, r.body});
    for (auto& r : rendered.clusters) unit.clusters.push_back({r.name, r.body});
    for (auto& r : rendered.endpoints) unit.assignments.push_back({r.cluster, r.file, r.body});
    unit.gates = std::move(rendered.gates);
    channel.send(message);
    REQUIRE(channel.expect<Applied>().id == id_);
  }

  bool answers() const { return testing::ask_udp({address_.address, kPort}, "x", 1s) == "a x"; }
  bool is_silent() const { return testing::ask_udp({address_.address, kPort}, "x", 300ms).empty(); }

 private:
  core::Cidr address_;
  testing::Backend backend_;
  core::Listener listener_;
  core::Affinity affinity_ = core::Affinity::None;
  std::uint64_t id_ = 0;
};

/// Filters nothing but what nf_tables are set with.
class NoFilter {
 public:
  NoFilter()
      : path_(std::filesystem::temp_directory_path() / World::get().new_name("seccomp.json")) {
    std::ofstream(path_) << R"({"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["socket"],)"
                            R"("action":"SCMP_ACT_ERRNO","args":[{"index":0,"value":16,)"
                            R"("op":"SCMP_CMP_EQ"},{"index":2,"value":12,"op":"SCMP_CMP_EQ"}]}]})";
  }
  ~NoFilter() { std::filesystem::remove(path_); }
  NoFilter(const NoFilter&) = delete;
  NoFilter& operator=(const NoFilter&) = delete;

  std::string option() const { return "seccomp=" + path_.string(); }

 private:
  std::filesystem::path path_;
};

/// What a Service is promised, however it is done.
void check_life(const Proxy& proxy) {
  UdpUnit unit;
  auto channel = ready_channel(proxy);
  unit.apply(*channel);
  CHECK(unit.answers());

  unit.listener().restricted = true;
  unit.apply(*channel);
  CHECK(unit.is_silent());
  unit.listener().allowed = {*core::Cidr::parse("192.0.2.0/24")};
  unit.apply(*channel);
  CHECK(unit.is_silent());

  unit.listener().allowed.push_back(core::Cidr::host(gateway()));
  unit.set_affinity(core::Affinity::ClientIp);
  unit.apply(*channel);
  CHECK(unit.answers());
  unit.listener().allowed.pop_back();
  unit.apply(*channel);
  CHECK(unit.is_silent());

  channel.reset();
  must_run({"docker", "restart", "-t", "5", proxy.name()});
  channel = ready_channel(proxy);
  CHECK(unit.is_silent());
  unit.listener().restricted = false;
  unit.apply(*channel);
  CHECK(unit.answers());
  unit.set_affinity(core::Affinity::None);
  unit.apply(*channel);
  CHECK(unit.answers());
}

}  // namespace

TEST_CASE("UDP ranges and affinity, by the kernel") {
  const Proxy proxy;
  check_life(proxy);
  CHECK(proxy.logs().find("cannot filter") == std::string::npos);
}

TEST_CASE("UDP ranges and affinity where the kernel cannot: by Envoy, and the log says so") {
  const NoFilter without;
  const Proxy proxy(without.option());
  check_life(proxy);
  CHECK(proxy.logs().find("cannot filter") != std::string::npos);
}

TEST_CASE("the listener behind a diversion stays for its last answers, then goes") {
  const Proxy proxy;
  UdpUnit unit;
  auto channel = ready_channel(proxy);
  // Envoy keeps the socket of a listener that it was told to close until drained; it is what it was
  // told that counts.
  const auto twin_is_open = [&] {
    const auto file = run({"docker", "cp", proxy.name() + ":/var/lib/kindlb/xds/lds.json", "-"});
    REQUIRE(file.text.find("dns/UDP") != std::string::npos);
    return file.text.find("dns/UDP~sticky") != std::string::npos;
  };
  unit.apply(*channel);
  CHECK_FALSE(twin_is_open());
  unit.set_affinity(core::Affinity::ClientIp);
  unit.apply(*channel);
  CHECK(twin_is_open());
  CHECK(unit.answers());

  unit.set_affinity(core::Affinity::None);
  unit.apply(*channel);
  CHECK(twin_is_open());
  CHECK(unit.answers());
  CHECK(wait_until([&] { return !twin_is_open(); }, 20s));
  CHECK(unit.answers());

  // Once more, and back again before the time is over.
  unit.set_affinity(core::Affinity::ClientIp);
  unit.apply(*channel);
  unit.set_affinity(core::Affinity::None);
  unit.apply(*channel);
  unit.set_affinity(core::Affinity::ClientIp);
  unit.apply(*channel);
  CHECK_FALSE(wait_until([&] { return !twin_is_open(); }, 4s));
  for (int i = 0; i < 20; ++i) CHECK(unit.answers());
}
