#include "controller/fleet_rig.hpp"

using namespace kindlb;
using namespace kindlb::test;

namespace {

std::size_t creates(FleetRig& rig) {
  return rig.journal.count("create");
}

}  // namespace

// ---- the warm pool -----------------------------------------------------------------------------

TEST_CASE("the pool is filled once it is known what exists, and refilled after a claim") {
  FleetRig rig(3);
  CHECK(rig.host.size() == 0);
  const auto mine = rig.host.add_warm("kind");
  REQUIRE(rig.discover());
  REQUIRE(rig.until_warm(3));
  CHECK(creates(rig) == 2);  // the one that was there counts
  rig.claim("u1");
  REQUIRE(rig.until_warm(3));
  CHECK(rig.host.size() == 4);
  CHECK(creates(rig) == 3);
}

TEST_CASE("each network has its own pool; one that goes away is emptied") {
  FleetRig rig(1);
  REQUIRE(rig.discover());
  rig.with([](auto& fleet) { fleet.keep_warm_on({"kind", "other"}); });
  REQUIRE(rig.until_warm(2));
  rig.claim("u1");
  REQUIRE(rig.until_live("u1"));
  REQUIRE(rig.until_warm(2));
  rig.with([](auto& fleet) { fleet.keep_warm_on({"other"}); });
  REQUIRE(rig.until_warm(1));
  REQUIRE(rig.until([&](auto&) { return rig.host.size() == 2; }));
  CHECK(rig.view("u1").present);  // who serves stays
  rig.with([](auto& fleet) { fleet.keep_warm_on({}); });
  CHECK(rig.until([](auto& fleet) { return !fleet.has_warm(); }));
  CHECK(rig.host.size() == 1);
}

TEST_CASE("a warm proxy created for a network no longer in use is removed") {
  FleetRig rig(1);
  rig.with([](auto& fleet) { fleet.discover(); });
  REQUIRE(rig.until([](auto& fleet) { return fleet.has_warm(); }));
  rig.with([](auto& fleet) { fleet.keep_warm_on({}); });
  CHECK(rig.until([&](auto& fleet) { return !fleet.has_warm() && rig.host.size() == 0; }));
}

TEST_CASE("filling the pool is retried after a failure") {
  FleetRig rig(1);
  rig.host.fail_next("create", kEngineSaysNo, 3);
  REQUIRE(rig.discover());
  CHECK(rig.until_warm(1));
  CHECK(creates(rig) == 4);
}

TEST_CASE("a network that comes while another one's pool is failing does not wait for it") {
  FleetRig rig(1);
  rig.host.fail_next("create", kEngineSaysNo, 7);  // the next try would be 30 s away
  REQUIRE(rig.discover());
  REQUIRE(rig.until([&](auto&) { return creates(rig) == 7; }));
  rig.with([](auto& fleet) { fleet.keep_warm_on({"other"}); });
  CHECK(rig.until_warm(1));
}

TEST_CASE("a warm proxy that is lost is replaced") {
  FleetRig rig(1);
  REQUIRE(rig.discover());
  REQUIRE(rig.until_warm(1));
  const auto first = rig.host.ids().front();
  SUBCASE("it died") {
    rig.host.die(first);
  }
  SUBCASE("it died, and the engine reports no removal") {
    rig.with([&](auto& fleet) {
      rig.host.on_event(nullptr);
      fleet.container_died(first);
    });
  }
  SUBCASE("it was removed") {
    rig.host.vanish(first);
  }
  CHECK(rig.until([&](auto& fleet) { return !fleet.knows(first) && fleet.warm_count() == 1; }));
  CHECK(rig.host.size() == 1);
}

TEST_CASE("warm proxies that die at once are replaced with back-off") {
  FleetRig rig(1);
  rig.host.fail_next("connect", {core::ErrorKind::Conflict, "connect", "not running"}, 1'000'000);
  REQUIRE(rig.discover());
  const auto begin = rig.clock.now();
  REQUIRE(rig.until([&](auto&) {
    for (const auto& id : rig.host.ids())
      if (rig.host.is_running(id)) rig.host.die(id);
    return rig.clock.now() - begin > std::chrono::seconds(20);
  }));
  // In 20 s, 1 + 2 + 4 + 8 s of waiting let through about six.
  const auto passed = rig.clock.now() - begin;
  CHECK(creates(rig) <= 6 + static_cast<std::size_t>(passed / std::chrono::seconds(15)));
}

// ---- removal -----------------------------------------------------------------------------------

TEST_CASE("a removal is retried until the engine confirms it, and only then reported") {
  FleetRig rig;
  REQUIRE(rig.discover());
  const auto id = rig.serve("u1");
  rig.host.fail_next("remove", kEngineIsAway, 3);
  const auto told = rig.with([&](auto& fleet) {
    fleet.remove("u1");
    CHECK_FALSE(fleet.view("u1").present);
    CHECK(fleet.view("u1").coming);  // neither free to be claimed nor gone
    return rig.changes["u1"];
  });
  REQUIRE(rig.until([&](auto& fleet) { return !fleet.knows(id); }));
  CHECK(rig.journal.count("remove") == 4);
  CHECK(rig.changes["u1"] > told);
  CHECK(rig.host.size() == 0);
}

TEST_CASE("an address is held until its proxy is gone") {
  FleetRig rig;
  REQUIRE(rig.discover());
  rig.serve("u1");
  rig.host.fail_next("remove", kEngineIsAway, 2);
  rig.with([&](auto& fleet) {
    fleet.remove("u1");
    CHECK(fleet.held_addresses("kind").size() == 1);
    CHECK(fleet.held_units().empty());
  });
  CHECK(rig.until([](auto& fleet) { return fleet.held_addresses("kind").empty(); }));
}

// ---- containers that stop ----------------------------------------------------------------------

TEST_CASE("a container that stopped is started again, once, when asked") {
  FleetRig rig;
  REQUIRE(rig.discover());
  const auto id = rig.serve("u1");
  rig.host.die(id);
  REQUIRE(rig.until([](auto& fleet) { return !fleet.view("u1").live; }));
  CHECK(rig.view("u1").present);
  CHECK_FALSE(rig.view("u1").trouble.empty());
  rig.with([](auto& fleet) {
    fleet.start("u1");
    fleet.start("u1");
  });
  REQUIRE(rig.until_live("u1"));
  CHECK(rig.journal.count("start") == 1);
  CHECK(rig.view("u1").acknowledged.text() == rig.host.units_of(id)[0].revision);
  CHECK(rig.view("u1").trouble.empty());
}

TEST_CASE("a proxy that cannot be restarted is removed") {
  FleetRig rig;
  REQUIRE(rig.discover());
  const auto id = rig.serve("u1");
  rig.host.die(id);
  rig.host.fail_next("start", kEngineSaysNo);
  REQUIRE(rig.until([](auto& fleet) { return !fleet.view("u1").live; }));
  rig.with([](auto& fleet) { fleet.start("u1"); });
  CHECK(
      rig.until([](auto& fleet) { return !fleet.view("u1").present && !fleet.view("u1").coming; }));
  CHECK(rig.host.size() == 0);
}

TEST_CASE("a proxy stays while the engine is unreachable, and its start is retried") {
  FleetRig rig;
  REQUIRE(rig.discover());
  const auto id = rig.serve("u1");
  rig.host.die(id);
  rig.host.fail_next("start", kEngineIsAway);
  REQUIRE(rig.until([](auto& fleet) { return !fleet.view("u1").live; }));
  const auto told = rig.with([&](auto& fleet) {
    fleet.start("u1");
    return rig.changes["u1"];
  });
  REQUIRE(rig.until([&](auto&) { return rig.changes["u1"] > told; }));
  CHECK(rig.host.size() == 1);
  rig.with([](auto& fleet) { fleet.start("u1"); });
  CHECK(rig.until_live("u1"));
}

TEST_CASE("a proxy removed by another program is reported, and its volume removed") {
  FleetRig rig;
  REQUIRE(rig.discover());
  const auto id = rig.serve("u1");
  rig.host.vanish(id);
  REQUIRE(rig.until([](auto& fleet) { return !fleet.view("u1").present; }));
  rig.claim("u1");
  CHECK(rig.until_live("u1"));
}

TEST_CASE("a proxy that died before it was known is noticed") {
  FleetRig rig;
  REQUIRE(rig.discover());
  rig.host.on_event(nullptr);  // its death is reported before its id is known
  rig.host.fail_next("connect", {core::ErrorKind::Conflict, "connect", "not running"}, 2);
  rig.claim("u1");
  REQUIRE(rig.until([](auto& fleet) { return fleet.view("u1").present; }));
  rig.host.die(rig.host.ids().front());
  CHECK(rig.until(
      [](auto& fleet) { return fleet.view("u1").trouble == "its container has stopped"; }));
}
