// Routes to endpoints that are not on the docker network: there before the first connection, and
// kept after the endpoint has left until the last one has ended.
#include "agent/it_world.hpp"
#include "network/connections.hpp"
#include "support/traffic/sockets.hpp"

#include <doctest/doctest.h>

#include <array>
#include <fstream>
#include <iterator>

using namespace kindlb;
using namespace kindlb::agent::it;
using core::IpFamily;
using protocol::Applied;
using protocol::ProbeResult;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// A file of the proxy's network namespace.
std::string net_file(const Proxy& proxy, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(proxy.envoy_pid()) + "/net/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_connected(const Proxy& proxy, const core::IpAddress& peer) {
  const bool v4 = peer.family() == IpFamily::V4;
  return agent::parse_connections(net_file(proxy, v4 ? "tcp" : "tcp6")).contains(peer);
}

/// As the kernel lists it: IPv4 as a number of this machine's byte order.
bool has_route(const Proxy& proxy, const core::IpAddress& to) {
  const bool v4 = to.family() == IpFamily::V4;
  std::string hex;
  for (std::size_t i = 0; i < to.bits() / 8; ++i) {
    std::array<char, 3> digits{};
    const auto byte = to.bytes().at(v4 ? 3 - i : i);
    std::snprintf(digits.data(), digits.size(), v4 ? "%02X" : "%02x", byte);
    hex += digits.data();
  }
  return net_file(proxy, v4 ? "route" : "ipv6_route").find(hex) != std::string::npos;
}

std::string ask(const testing::Socket& socket) {
  const std::string request = "GET / HTTP/1.0\r\n\r\n";
  if (::send(socket.fd(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return "cannot send";
  std::array<char, 512> answer;
  const auto got = ::recv(socket.fd(), answer.data(), answer.size(), 0);
  if (got <= 0) return "no answer";
  const std::string text(answer.data(), static_cast<std::size_t>(got));
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

TEST_CASE("an endpoint that leaves keeps its route until its connections have ended") {
  IpFamily family = IpFamily::V4;
  std::string pod_text = "10.199.7.3";
  SUBCASE("IPv4") {}
  SUBCASE("IPv6") {
    family = IpFamily::V6;
    pod_text = "fd99::7:3";
  }
  const auto pod = *core::IpAddress::parse(pod_text);
  const Proxy proxy;
  const Peer node("node", core::Cidr::host(pod).text());
  const Peer other("other");
  const auto service = World::get().new_address(family);
  auto channel = ready_channel(proxy);

  auto apply = an_apply(1, {.unit = "web", .address = service, .endpoint = {pod, 8080}});
  apply.unit.routes = {{core::Cidr::host(pod), node.address(family)}};
  channel->send(apply);
  const auto applied = channel->expect<Applied>();
  REQUIRE(applied.probes.at(0).result == ProbeResult::Reached);
  CHECK(has_route(proxy, pod));

  auto lasting = testing::dial(SOCK_STREAM, {service.address, 80}, seconds(3));
  REQUIRE(lasting);
  REQUIRE(wait_until([&] { return is_connected(proxy, pod); }, seconds(2)));
  channel->send(an_apply(2, {.unit = "web",
                             .address = service,
                             .endpoint = {other.address(family), 8080},
                             .revision = "r2"}));
  CHECK(channel->expect<Applied>().revision == "r2");
  CHECK(ask(lasting) == "node");
  lasting = {};

  CHECK(wait_until([&] { return !has_route(proxy, pod); }, seconds(20)));
  CHECK_FALSE(is_connected(proxy, pod));
  const auto later = testing::dial(SOCK_STREAM, {service.address, 80}, seconds(3));
  REQUIRE(later);
  CHECK(ask(later) == "other");
}
