#include "network/network_sync.hpp"

#include "agent/fakes.hpp"
#include "support/builders.hpp"
#include "support/fakes/manual_clock.hpp"

#include <doctest/doctest.h>

using namespace kindlb;
using namespace kindlb::agent;
using protocol::RejectStage;
using std::chrono::milliseconds;
using test::cidr;

namespace {

struct SyncWorld {
  testing::ManualClock clock;
  Loop loop{clock};
  testing::Steps steps;
  testing::FakeNetwork network{steps};
  testing::FakeFilter filter{steps};
  UdpRules rules{loop, filter, [] {}};
  CommittedUnit unit;
  bool wanted = true;
  NetworkSync sync{loop, network, rules, [this] {
                     WantedUnits out;
                     if (wanted) out.committed = {&unit};
                     return out;
                   }};

  SyncWorld() {
    unit.unit = testing::with_rule(testing::unit_at("dns", "172.18.0.9"),
                                   testing::udp_rule("172.18.0.9", 53, 0, true));
    unit.unit.routes = {{cidr("10.244.1.2/32"), test::ip("172.18.0.2")}};
  }
  std::string pass(milliseconds time) {
    clock.advance(time);
    loop.run_due();
    return steps.take();
  }
};

}  // namespace

TEST_CASE("a request's needs are added in order, and neighbours told when asked") {
  SyncWorld world;
  CHECK(world.sync.add() == std::nullopt);
  CHECK(world.steps.take() ==
        "add address 172.18.0.9/16; add route 10.244.1.2/32 via 172.18.0.2; rules 53 filtered");
  CHECK(world.sync.announce());
  CHECK_FALSE(world.sync.announce());
}

TEST_CASE("the first refusal names its stage") {
  using Refusal = NetworkSync::Refusal;
  SyncWorld world;
  world.filter.refusing = true;
  CHECK(world.sync.add() == Refusal{RejectStage::Filter, "install rules: refused"});
  world.wanted = false;
  world.sync.sync();
  world.wanted = true;
  world.network.refused_routes = {cidr("10.244.1.2/32")};
  CHECK(world.sync.add() == Refusal{RejectStage::Route, "add route 10.244.1.2/32: refused"});
  world.wanted = false;
  world.sync.sync();
  world.wanted = true;
  world.network.refused_addresses = {cidr("172.18.0.9/16")};
  CHECK(world.sync.add() == Refusal{RejectStage::Address, "add address 172.18.0.9/16: refused"});
}

TEST_CASE("what is not wanted goes before what is missing comes, and neighbours are told last") {
  SyncWorld world;
  world.sync.sync();
  CHECK(world.steps.take() ==
        "add address 172.18.0.9/16; add route 10.244.1.2/32 via 172.18.0.2; rules 53 filtered; "
        "announce");
  world.unit.unit = testing::unit_at("web", "172.18.0.10");
  world.sync.sync();
  CHECK(world.steps.take() ==
        "remove route 10.244.1.2/32; remove address 172.18.0.9/16; add address 172.18.0.10/16; "
        "rules none; announce");
  world.sync.sync();
  CHECK(world.steps.take().empty());
}

TEST_CASE("failures without a request stop nothing else") {
  SyncWorld world;
  world.network.refused_addresses = {cidr("172.18.0.9/16")};
  world.sync.sync();
  CHECK(world.steps.take() == "add route 10.244.1.2/32 via 172.18.0.2; rules 53 filtered");
}

TEST_CASE("a route with connections is looked at again every two seconds until they have gone") {
  SyncWorld world;
  world.sync.sync();
  world.network.connected_routes = {cidr("10.244.1.2/32")};
  world.wanted = false;
  world.sync.sync();
  CHECK(world.steps.take().ends_with("remove address 172.18.0.9/16; rules none"));
  CHECK(world.pass(NetworkSync::kRouteRecheck).empty());
  world.network.connected_routes.clear();
  CHECK(world.pass(milliseconds(1'999)).empty());
  CHECK(world.pass(milliseconds(1)) == "remove route 10.244.1.2/32");
  CHECK_FALSE(world.loop.run_due());
}
