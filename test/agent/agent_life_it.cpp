// The real agent through crashes, restarts and moves of its container.
#include "agent/it_world.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <fstream>
#include <sstream>

using namespace kindlb;
using namespace kindlb::agent::it;
using protocol::Applied;
using protocol::EnvoyState;
using protocol::Hello;
using protocol::ProbeResult;
using protocol::Status;
using std::chrono::milliseconds;

using Answer = std::optional<std::string>;

TEST_CASE("a killed Envoy serves again within a second, and clients get a Status") {
  const Proxy proxy;
  const Peer one("one");
  const auto address = World::get().new_address();
  auto channel = ready_channel(proxy);
  channel->send(an_apply(1, {.unit = "web", .address = address, .endpoint = backend_of(one)}));
  channel->expect<Applied>();
  const auto killed = std::chrono::steady_clock::now();
  REQUIRE(::kill(proxy.envoy_pid(), SIGKILL) == 0);
  const auto down = channel->expect<Status>();
  CHECK(down.envoy == EnvoyState::Down);
  CHECK(down.text == "killed by signal 9");
  REQUIRE(down.units.size() == 1);
  CHECK_FALSE(down.units[0].acknowledged);
  auto live = channel->expect<Status>();
  while (live.envoy != EnvoyState::Live) live = channel->expect<Status>();
  CHECK(std::chrono::steady_clock::now() - killed < milliseconds(2000));
  CHECK(live.restarts == 1);
  REQUIRE(live.units.size() == 1);
  CHECK(live.units[0].acknowledged);
  CHECK(one.fetch(address.address, 80, 1000) == Answer("one"));
}

TEST_CASE("a restarted container serves its stored units without kindlb") {
  const Proxy proxy;
  const Peer node("node", "10.77.0.1/32");
  const auto address = World::get().new_address();
  {
    auto channel = ready_channel(proxy);
    auto apply = an_apply(1, {.unit = "web",
                              .address = address,
                              .endpoint = {*core::IpAddress::parse("10.77.0.1"), 8080}});
    apply.unit.routes = {{*core::Cidr::parse("10.77.0.1/32"), node.address()}};
    channel->send(apply);
    const auto applied = channel->expect<Applied>();
    CHECK(applied.probes[0].result == ProbeResult::Reached);
    CHECK(node.fetch(address.address, 80, 1000) == Answer("node"));
  }
  must_run({"docker", "restart", "-t", "5", proxy.name()});
  CHECK(wait_until([&] { return node.fetch(address.address, 80, 500) == Answer("node"); },
                   std::chrono::seconds(5)));
  Channel channel(proxy);
  const auto hello = channel.expect<Hello>();
  REQUIRE(hello.units.size() == 1);
  CHECK(hello.units[0].revision == "r1");
}

TEST_CASE("a restarted container does not take an address that is in use by now") {
  const Proxy old;
  const Proxy next;
  const Peer one("one");
  const auto address = World::get().new_address();
  const UnitOptions web{.unit = "web", .address = address, .endpoint = backend_of(one)};
  {
    auto channel = ready_channel(old);
    channel->send(an_apply(1, web));
    CHECK(channel->expect<Applied>().id == 1);
  }
  must_run({"docker", "kill", old.name()});
  auto channel = ready_channel(next);
  channel->send(an_apply(2, web));
  CHECK(channel->expect<Applied>().id == 2);
  must_run({"docker", "start", old.name()});
  const auto returned = ready_channel(old);
  Channel other(old);
  const auto hello = other.expect<Hello>();
  REQUIRE(hello.units.size() == 1);
  CHECK_FALSE(hello.units[0].acknowledged);
  must_run({"docker", "kill", next.name()});
  CHECK(one.fetch(address.address, 80, 300) == std::nullopt);
}

TEST_CASE("neighbours with a stale MAC address reach the new holder at once") {
  for (const auto family : {core::IpFamily::V4, core::IpFamily::V6}) {
    CAPTURE(std::string(core::name_of(family)));
    const Proxy old;
    const Proxy next;
    const Peer client("client");
    const auto address = World::get().new_address(family);
    const UnitOptions web{.unit = "web", .address = address, .endpoint = backend_of(client)};
    auto first = ready_channel(old);
    auto second = ready_channel(next);
    first->send(an_apply(1, web));
    first->expect<Applied>();
    REQUIRE(client.fetch(address.address, 80, 1000) == Answer("client"));
    must_run({"docker", "kill", old.name()});
    second->send(an_apply(2, web));
    CHECK(second->expect<Applied>().id == 2);
    CHECK(client.fetch(address.address, 80, 900) == Answer("client"));
  }
}

TEST_CASE("Envoy has no privileges, and a stop is quick and sends Bye") {
  const Proxy proxy;
  auto channel = ready_channel(proxy);
  std::ifstream file("/proc/" + std::to_string(proxy.envoy_pid()) + "/status");
  std::stringstream status;
  status << file.rdbuf();
  const auto uid = Proxy::envoy_uid();
  const auto four_times = uid + "\t" + uid + "\t" + uid + "\t" + uid;
  CHECK(status.str().find("Uid:\t" + four_times) != std::string::npos);
  CHECK(status.str().find("Gid:\t" + four_times) != std::string::npos);
  CHECK(status.str().find("Groups:\t \n") != std::string::npos);
  CHECK(status.str().find("CapEff:\t0000000000000000") != std::string::npos);
  CHECK(status.str().find("CapPrm:\t0000000000000000") != std::string::npos);
  CHECK(status.str().find("NoNewPrivs:\t1") != std::string::npos);

  const auto begin = std::chrono::steady_clock::now();
  must_run({"docker", "stop", "-t", "10", proxy.name()});
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(4));
  CHECK(channel->expect<protocol::Bye>().reason == "SIGTERM");
  CHECK(must_run({"docker", "inspect", "-f", "{{.State.ExitCode}}", proxy.name()}) == "0");
}
