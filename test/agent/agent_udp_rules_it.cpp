// UDP ports whose datagrams the kernel filters and redirects, and the fallback to Envoy where it
// cannot.
#include "agent/it_world.hpp"
#include "kindlb/envoy/render.hpp"
#include "support/traffic/ask.hpp"
#include "support/traffic/backend.hpp"

#include <poll.h>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <thread>

using namespace kindlb;
using namespace kindlb::agent::it;
using protocol::Applied;
using namespace std::chrono_literals;

namespace {

constexpr std::uint16_t kPort = 53;
constexpr std::uint16_t kRedirectPort = 32821;

core::IpAddress gateway() {
  const auto text = must_run({"docker", "network", "inspect", "--format",
                              "{{(index .IPAM.Config 0).Gateway}}", World::get().network()});
  const auto parsed = core::IpAddress::parse(text);
  REQUIRE(parsed);
  return *parsed;
}

/// One UDP port; this machine is both its client and its endpoint.
class UdpUnit {
 public:
  explicit UdpUnit(std::string unit = "dns", const core::Cidr& address = World::get().new_address())
      : unit_(std::move(unit)), address_(address), backend_(gateway(), "a") {}

  const core::Cidr& address() const { return address_; }
  core::Listener& listener() { return listener_; }
  void set_affinity(core::Affinity affinity) { affinity_ = affinity; }
  /// Another port with the same endpoint; 0: none.
  void set_other_port(std::uint16_t port) { other_port_ = port; }
  /// Add a listener at an address the container does not have: Envoy rejects it and takes the rest.
  void set_impossible(bool impossible) { impossible_ = impossible; }

  void apply(Channel& channel) {
    send(channel);
    REQUIRE(channel.expect<Applied>().id == id_);
  }
  void apply_in_vain(Channel& channel) {
    send(channel);
    REQUIRE(channel.expect<protocol::Rejected>().id == id_);
  }
  void release(Channel& channel) {
    channel.send(protocol::Release{.id = ++id_, .unit = unit_});
    REQUIRE(channel.expect<Applied>().id == id_);
  }

  bool answers(std::uint16_t port = kPort) const {
    return testing::ask_udp({address_.address, port}, "x", 1s) == "a x";
  }
  bool is_silent() const { return testing::ask_udp({address_.address, kPort}, "x", 300ms).empty(); }

 private:
  void send(Channel& channel) {
    core::ProxyConfig config;
    config.unit = unit_;
    listener_.name = unit_ + "/UDP";
    listener_.backend = unit_ + "/UDP";
    listener_.address = address_.address;
    listener_.port = kPort;
    listener_.protocol = core::Protocol::Udp;
    config.listeners = {listener_};
    if (other_port_ != 0) {
      config.listeners.push_back(listener_);
      config.listeners.back().name = unit_ + "/UDP/other";
      config.listeners.back().port = other_port_;
    }
    if (impossible_) {
      config.listeners.push_back(listener_);
      config.listeners.back().name = unit_ + "/UDP/impossible";
      config.listeners.back().address = *core::IpAddress::parse("203.0.113.1");
    }
    config.backends = {{.name = listener_.backend,
                        .protocol = core::Protocol::Udp,
                        .affinity = affinity_,
                        .targets = {backend_.target()}}};
    auto rendered = envoy::render(config, {protocol::kXdsDir, protocol::kEndpointsDir});
    protocol::Apply message;
    message.id = ++id_;
    auto& unit = message.unit;
    unit.unit = config.unit;
    unit.owner = "kind/default/" + unit_;
    unit.revision = "r" + std::to_string(id_);
    unit.addresses = {address_};
    for (auto& r : rendered.listeners) unit.listeners.push_back({r.name, r.body});
    for (auto& r : rendered.listeners_behind_rules)
      unit.listeners_behind_rules.push_back({r.name, r.body});
    for (auto& r : rendered.clusters) unit.clusters.push_back({r.name, r.body});
    for (auto& r : rendered.endpoints) unit.assignments.push_back({r.cluster, r.file, r.body});
    unit.udp_rules = std::move(rendered.udp_rules);
    channel.send(message);
  }

  std::string unit_;
  core::Cidr address_;
  testing::Backend backend_;
  core::Listener listener_;
  core::Affinity affinity_ = core::Affinity::None;
  std::uint16_t other_port_ = 0;
  bool impossible_ = false;
  std::uint64_t id_ = 0;
};

/// Sends without pause to a port that must not be reachable, and counts answers from any source.
class Intruder {
 public:
  explicit Intruder(const core::Target& to)
      : socket_(testing::bound(SOCK_DGRAM, {gateway(), 0})),
        to_(testing::SocketName(to)),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}
  /// Those until now; the last have time to come.
  int answers() {
    thread_.request_stop();
    thread_.join();
    return answers_;
  }

 private:
  void run(const std::stop_token& stop) {
    for (int i = 0; i < 200'000 && !stop.stop_requested(); ++i) {
      ::sendto(socket_.fd(), "intruder", 8, 0, to_.get(), to_.size());
      take(std::chrono::microseconds(200));
    }
    take(300ms);
  }
  void take(std::chrono::microseconds limit) {
    pollfd wanted{socket_.fd(), POLLIN, 0};
    const timespec patience{0, std::chrono::nanoseconds(limit).count()};
    char byte = 0;
    while (::ppoll(&wanted, 1, &patience, nullptr) == 1 &&
           ::recv(socket_.fd(), &byte, 1, MSG_DONTWAIT) >= 0)
      ++answers_;
  }

  testing::Socket socket_;
  testing::SocketName to_;
  int answers_ = 0;
  std::jthread thread_;
};

// Look at the file, not at the socket: Envoy keeps the socket of a removed listener until it has
// drained.
bool is_open(const Proxy& proxy, const std::string& listener) {
  const auto file = run({"docker", "cp", proxy.name() + ":/var/lib/kindlb/xds/lds.json", "-"});
  REQUIRE(file.text.find("dns/UDP") != std::string::npos);
  return file.text.find(listener) != std::string::npos;
}

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

TEST_CASE("without nf_tables Envoy does UDP ranges and affinity, and the log says so") {
  const NoFilter without;
  const Proxy proxy(without.option());
  check_life(proxy);
  CHECK(proxy.logs().find("cannot filter") != std::string::npos);
}

TEST_CASE("a listener behind a redirection drains before it is removed") {
  const Proxy proxy;
  UdpUnit unit;
  auto channel = ready_channel(proxy);
  const auto twin_is_open = [&] { return is_open(proxy, "dns/UDP~sticky"); };
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

TEST_CASE("the redirect port is never reachable directly") {
  const Proxy proxy;
  UdpUnit unit;
  auto channel = ready_channel(proxy);
  unit.apply(*channel);
  Intruder intruder({unit.address().address, kRedirectPort});
  for (int i = 0; i < 5; ++i) {
    unit.set_affinity(core::Affinity::ClientIp);
    unit.apply(*channel);
    unit.set_affinity(core::Affinity::None);
    unit.apply(*channel);
    // Until it has gone: what comes next makes it anew.
    CHECK(wait_until([&] { return !is_open(proxy, "dns/UDP~sticky"); }, 20s));
  }
  CHECK(intruder.answers() == 0);
}

TEST_CASE("ports of a partly rejected update stay filtered until Envoy closes them") {
  const Proxy proxy;
  UdpUnit unit;
  auto channel = ready_channel(proxy);
  unit.apply(*channel);
  unit.listener().restricted = true;
  unit.set_impossible(true);
  for (std::uint16_t port = 5353; port < 5358; ++port) {
    Intruder intruder({unit.address().address, port});
    unit.set_other_port(port);
    unit.apply_in_vain(*channel);
    CHECK(wait_until([&] { return !is_open(proxy, "dns/UDP/other"); }, 20s));
    CHECK(intruder.answers() == 0);
  }
  // What is served is what was before.
  CHECK(wait_until([&] { return unit.answers(); }, 20s));
}

TEST_CASE("a redirect port can become a port of the Service, and back") {
  const Proxy proxy;
  UdpUnit unit;
  auto channel = ready_channel(proxy);
  unit.set_affinity(core::Affinity::ClientIp);
  unit.apply(*channel);
  for (int i = 0; i < 3; ++i) {
    unit.set_other_port(kRedirectPort);
    unit.apply(*channel);
    CHECK(unit.answers());
    CHECK(unit.answers(kRedirectPort));
    unit.set_other_port(0);
    unit.apply(*channel);
    CHECK(unit.answers());
    CHECK_FALSE(unit.answers(kRedirectPort));
  }
}

TEST_CASE("an address can move to another unit right after a redirection ended") {
  const Proxy proxy;
  UdpUnit unit;
  auto channel = ready_channel(proxy);
  unit.set_affinity(core::Affinity::ClientIp);
  unit.apply(*channel);
  unit.set_affinity(core::Affinity::None);
  unit.apply(*channel);
  unit.release(*channel);
  UdpUnit next("next", unit.address());
  next.set_affinity(core::Affinity::ClientIp);
  next.apply(*channel);
  CHECK(next.answers());
}
