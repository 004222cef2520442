// The way through node ports: nodes come and go, and with traffic policy Local the health-check
// node port has a say. Nodes are addresses of this machine on the bridge.
#include "integration/clients.hpp"
#include "integration/served.hpp"
#include "support/traffic/ask.hpp"
#include "support/traffic/load.hpp"
#include "support/traffic/udp_stream.hpp"

#include <poll.h>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <atomic>
#include <set>

namespace {

using namespace kindlb;
using it::Served;
using it::shared_stage;

const std::map<std::string, std::string> kThroughNodePorts = {{"kindlb.dev/datapath", "nodeport"}};
constexpr std::uint16_t kNodePort = 30'571;
constexpr std::uint16_t kHealthPort = 30'572;

std::string node_port_spec(const std::string& more = "") {
  return fmt::format(R"({{"type":"LoadBalancer","ports":[)"
                     R"({{"name":"tcp","port":80,"protocol":"TCP","nodePort":{0}}},)"
                     R"({{"name":"udp","port":80,"protocol":"UDP","nodePort":{0}}}]{1}}})",
                     kNodePort, more);
}

/// A node with a Service's node port and what kube-proxy would answer on the health-check one.
class FakeNode {
 public:
  FakeNode(const std::string& name, const core::IpAddress& address)
      : backend_(address, name, kNodePort),
        address_(address),
        listener_(testing::bound(SOCK_STREAM, {address, kHealthPort})) {
    REQUIRE(listener_);
    REQUIRE(::listen(listener_.fd(), 64) == 0);
    thread_ = std::jthread([this](const std::stop_token& stop) { answer_checks(stop); });
  }

  void join(it::Stage& stage) { stage.create_node(backend_.name(), address_); }
  void report(int status) { status_ = status; }
  std::size_t checks() const { return checks_; }

 private:
  void answer_checks(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd polled{listener_.fd(), POLLIN, 0};
      if (::poll(&polled, 1, 20) <= 0) continue;
      const testing::Socket client(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
      std::array<char, 1024> request;
      const auto got = ::recv(client.fd(), request.data(), request.size(), 0);
      if (got <= 0) continue;
      const std::string asked(request.data(), static_cast<std::size_t>(got));
      const int status = asked.starts_with("GET /healthz HTTP/1.") ? status_.load() : 404;
      const auto answer =
          fmt::format("HTTP/1.1 {} -\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status);
      (void)::send(client.fd(), answer.data(), answer.size(), MSG_NOSIGNAL);
      ++checks_;
    }
  }

  testing::Backend backend_;
  core::IpAddress address_;
  testing::Socket listener_;
  std::atomic<int> status_ = 200;
  std::atomic<std::size_t> checks_ = 0;
  std::jthread thread_;
};

/// Who answers a dozen connections and a dozen datagrams.
std::set<std::string> answering(const core::Target& target) {
  std::set<std::string> out;
  for (int i = 0; i < 12; ++i) {
    const auto tcp = testing::ask_tcp(target, "x");
    const auto udp = testing::ask_udp(target, "x");
    out.insert(tcp.substr(0, tcp.find(' ')));
    out.insert(udp.substr(0, udp.find(' ')));
  }
  return out;
}

}  // namespace

TEST_CASE("nobody notices: nodes come and go") {
  auto& stage = shared_stage();
  const it::Clients addresses(stage, 2);
  FakeNode one("node-1", addresses.v4(0));
  FakeNode two("node-2", addresses.v4(1));
  one.join(stage);
  Served served(stage);
  served.create(node_port_spec(), kThroughNodePorts);
  testing::Load load({.target = served.target()});
  testing::UdpStream stream({.target = served.target()});
  REQUIRE(load.go_on(100));

  two.join(stage);
  stage.until("the new node is used", [&] { return load.so_far().answers.contains("node-2"); });
  CHECK(load.go_on(100));
  CHECK(stream.so_far().moves == 0);
  stage.remove_node("node-2");
  CHECK(load.go_on(100));
  const auto tcp = load.finish();
  const auto udp = stream.finish();
  stage.remove_node("node-1");
  MESSAGE("TCP: " << tcp.text());
  MESSAGE("UDP: " << udp.text());
  CHECK(tcp.failures == std::vector<std::string>{});
  CHECK(udp.losses == std::vector<std::string>{});
}

TEST_CASE("the health-check node port is asked in addition to the EndpointSlices") {
  auto& stage = shared_stage();
  const it::Clients addresses(stage, 2);
  FakeNode one("node-1", addresses.v4(0));
  FakeNode two("node-2", addresses.v4(1));
  one.join(stage);
  two.join(stage);
  Served served(stage);
  const core::Target pod{*core::IpAddress::parse("10.244.1.2"), 8080};
  served.place("a", pod, "node-1");
  served.place("b", {*pod.address.next(), 8080}, "node-2");
  std::map<std::string, std::string> annotations = kThroughNodePorts;
  const auto spec = node_port_spec(
      fmt::format(R"(,"externalTrafficPolicy":"Local","healthCheckNodePort":{})", kHealthPort));
  served.create(spec, annotations);
  const std::set<std::string> both = {"node-1", "node-2"};
  const auto target = served.target();
  stage.until("both are used", [&] { return answering(target) == both; });
  CHECK(one.checks() > 0);
  CHECK(two.checks() > 0);

  one.report(503);
  stage.until("the node without endpoints is left alone",
              [&] { return answering(target) == std::set<std::string>{"node-2"}; });
  one.report(200);
  stage.until("it is used again", [&] { return answering(target) == both; });

  served.remove("b");
  stage.until("the EndpointSlices decide at once",
              [&] { return answering(target) == std::set<std::string>{"node-1"}; });
  one.report(503);
  const auto checked = one.checks();
  stage.until("the check was seen to fail", [&] { return one.checks() > checked + 4; });
  CHECK(answering(target) == std::set<std::string>{"node-1"});  // nobody else is left
  stage.remove_node("node-1");
  stage.remove_node("node-2");
}
