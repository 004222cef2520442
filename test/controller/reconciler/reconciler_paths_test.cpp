// Ways to the pods that close and open again, and nodes that stand still.
#include "controller/harness.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace kindlb;
using namespace kindlb::test;

namespace {

bool through_node_ports(FakeWorld& world) {
  const auto holder = world.host.holder_of(world.service().uid);
  if (holder.empty()) return false;
  const auto units = world.host.units_of(holder);
  return !units.empty() && core::Revision::parse(units[0].revision).through_node_ports();
}

/// Where the proxy sends connections, as its routes show.
std::vector<std::string> pods(FakeWorld& world) {
  std::vector<std::string> out;
  for (const auto& route : world.host.routes_of(world.service().uid))
    out.push_back(route.to.address.text());
  return out;
}

}  // namespace

TEST_CASE("once pods can be reached directly again, node ports are left without a status write") {
  FakeWorld world;
  world.host.block_direct_path(true);
  Kindlb kindlb(world);
  world.add_service();
  REQUIRE(kindlb.wait_serving());
  REQUIRE(through_node_ports(world));
  const auto told = world.service().status;
  SUBCASE("while they cannot, node ports stay, however often it is retried") {
    const auto before = world.journal.count("send");
    CHECK(kindlb.wait_until([&] { return world.journal.count("send") >= before + 4; }));
    CHECK(world.serves());
  }
  SUBCASE("a proxy that cannot even probe changes nothing") {
    world.host.reject_next(protocol::RejectStage::Route, "Network is unreachable", 3);
    const auto before = world.journal.count("send");
    CHECK(kindlb.wait_until([&] { return world.journal.count("send") >= before + 5; }));
    CHECK(world.serves());
  }
  SUBCASE("when they can") {
    world.host.block_direct_path(false);
    CHECK(kindlb.wait_until([&] { return !through_node_ports(world); }));
  }
  CHECK(world.service().status == told);
}

TEST_CASE("a Service on node ports stays there over a restart until the direct path is proven") {
  FakeWorld world;
  world.host.block_direct_path(true);
  {
    Kindlb kindlb(world);
    world.add_service();
    REQUIRE(kindlb.wait_serving());
    REQUIRE(kindlb.wait_quiet());
  }
  const auto writes = world.writes();
  Kindlb again(world);
  REQUIRE(again.wait_quiet());
  CHECK(through_node_ports(world));
  world.host.block_direct_path(false);
  CHECK(again.wait_until([&] { return !through_node_ports(world); }));
  CHECK(world.writes() == writes);
}

TEST_CASE("a halted node gets no traffic") {
  FakeWorld world;
  Kindlb kindlb(world);
  world.add_service();
  REQUIRE(kindlb.wait_serving());
  REQUIRE(kindlb.wait_quiet());
  const auto told = world.service().status;
  REQUIRE(pods(world).size() == 2);

  kindlb.on_loop([&] { kindlb.reconciler().set_halted_nodes({"node-b"}); });
  CHECK(kindlb.wait_until([&] { return pods(world) == std::vector<std::string>{"10.244.0.5"}; }));
  world.kube().put_node(a_node("node-b", "172.18.0.3"));  // as Ready as ever, says the API
  REQUIRE(kindlb.wait_quiet());
  CHECK(pods(world).size() == 1);

  kindlb.on_loop([&] { kindlb.reconciler().set_halted_nodes({}); });
  CHECK(kindlb.wait_until([&] { return pods(world).size() == 2; }));
  CHECK(world.service().status == told);
}

TEST_CASE("failures are retried as soon as something changes at the engine") {
  FakeWorld world;
  world.host.fail_next("create", {core::ErrorKind::Invalid, "create", "no space left"}, 12);
  Kindlb kindlb(world, {.warm_proxies = 0});
  world.add_service();
  REQUIRE(kindlb.wait_until([&] { return world.serving() == "False/Infrastructure"; }));
  const auto begin = world.clock.now();
  for (int i = 0; i < 20 && !world.serves(); ++i) {
    kindlb.on_loop([&] { kindlb.reconciler().retry_now(); });
    kindlb.settle();
  }
  CHECK(kindlb.wait_serving());
  CHECK(world.clock.now() == begin);
}
