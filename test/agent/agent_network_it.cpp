// What the real kernel loses inside a proxy's network namespace comes back.
#include "agent/it_world.hpp"

#include <doctest/doctest.h>

using namespace kindlb;
using namespace kindlb::agent::it;
using core::IpFamily;
using protocol::Applied;
using protocol::Hello;
using protocol::Status;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// A proxy that serves a pod behind a node by way of a route, in one family.
struct RoutedService {
  IpFamily family;
  core::IpAddress pod;
  Proxy proxy;
  Peer node;
  core::Cidr address;
  std::unique_ptr<Channel> channel;

  explicit RoutedService(IpFamily which = IpFamily::V4)
      : family(which),
        pod(core::IpAddress::parse(which == IpFamily::V4 ? "10.198.7.3" : "fd98::7:3").value()),
        node("node", core::Cidr::host(pod).text()),
        address(World::get().new_address(which)),
        channel(ready_channel(proxy)) {
    auto apply = an_apply(1, {.unit = "web", .address = address, .endpoint = {pod, 8080}});
    apply.unit.routes = {{core::Cidr::host(pod), node.address(family)}};
    channel->send(apply);
    channel->expect<Applied>();
    REQUIRE(is_served(seconds(5)));
  }
  bool is_served(milliseconds limit) const {
    return wait_until(
        [&] { return node.fetch(address.address, 80, 500) == std::optional<std::string>("node"); },
        limit);
  }
  /// Run `ip` in the proxy's network namespace.
  std::string ip(std::vector<std::string> arguments) const {
    std::vector<std::string> command{"nsenter", "-t", std::to_string(proxy.pid()), "-n", "ip"};
    if (family == IpFamily::V6) command.emplace_back("-6");
    command.insert(command.end(), arguments.begin(), arguments.end());
    return must_run(command);
  }
  /// What the kernel says of the Service's address; empty: there is none. On whichever interface:
  /// a network that was connected anew may come with another name.
  std::string address_text() const {
    return ip({"address", "show", "to", address.address.text()});
  }
  bool has_address() const { return !address_text().empty(); }
  bool has_route() const { return !ip({"route", "show", pod.text()}).empty(); }
};

}  // namespace

TEST_CASE("an address that is deleted inside a proxy is restored at once, and serves") {
  IpFamily family = IpFamily::V4;
  SUBCASE("IPv4") {}
  SUBCASE("IPv6") {
    family = IpFamily::V6;
  }
  const RoutedService world(family);
  for (int i = 0; i < 3; ++i) {
    world.ip({"address", "del", world.address.text(), "dev", "eth0"});
    CHECK(wait_until([&] { return world.has_address(); }, seconds(2)));
    CHECK(world.is_served(seconds(2)));
  }
  CHECK(world.address_text().find("tentative") == std::string::npos);
}

TEST_CASE("a route that is deleted inside a proxy is restored at once, and serves") {
  IpFamily family = IpFamily::V4;
  SUBCASE("IPv4") {}
  SUBCASE("IPv6") {
    family = IpFamily::V6;
  }
  const RoutedService world(family);
  world.ip({"route", "del", world.pod.text()});
  CHECK(wait_until([&] { return world.has_route(); }, seconds(2)));
  CHECK(world.is_served(seconds(2)));
}

TEST_CASE("a link that was down serves again when it is up") {
  const RoutedService world;
  world.ip({"link", "set", "eth0", "down"});
  auto status = world.channel->expect<Status>();
  CHECK(status.network_problem == "network interface eth0 is down");
  CHECK(status.envoy == protocol::EnvoyState::Live);
  {
    Channel other(world.proxy);
    CHECK(other.expect<Hello>().network_problem == "network interface eth0 is down");
  }
  world.ip({"link", "set", "eth0", "up"});
  while (!status.network_problem.empty()) status = world.channel->expect<Status>();
  CHECK(world.has_route());
  CHECK(world.is_served(seconds(3)));
}

TEST_CASE("a proxy that was disconnected from its network serves again when it is connected") {
  const RoutedService world;
  const auto& network = World::get().network();
  must_run({"docker", "network", "disconnect", network, world.proxy.name()});
  auto status = world.channel->expect<Status>();
  CHECK(status.network_problem.find("no interface on the network") != std::string::npos);

  must_run({"docker", "network", "connect", network, world.proxy.name()});
  while (!status.network_problem.empty()) status = world.channel->expect<Status>();
  CHECK(world.is_served(seconds(3)));
}

TEST_CASE("an address that another proxy took meanwhile is left to it") {
  const RoutedService world;
  const Proxy next;
  const auto& network = World::get().network();
  must_run({"docker", "network", "disconnect", network, world.proxy.name()});
  world.channel->expect<Status>();
  auto channel = ready_channel(next);
  channel->send(an_apply(
      2, {.unit = "web", .address = world.address, .endpoint = {world.node.address(), 8080}}));
  CHECK(channel->expect<Applied>().id == 2);
  must_run({"docker", "network", "connect", network, world.proxy.name()});
  auto status = world.channel->expect<Status>();
  while (status.network_problem.find("in use by another host") == std::string::npos)
    status = world.channel->expect<Status>();
  CHECK_FALSE(world.has_address());
  must_run({"docker", "kill", next.name()});
  while (!status.network_problem.empty()) status = world.channel->expect<Status>(seconds(20));
  CHECK(world.has_address());
  CHECK(world.is_served(seconds(3)));
}
