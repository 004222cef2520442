#include "controller/fleet_rig.hpp"

using namespace kindlb;
using namespace kindlb::test;

namespace {

protocol::UnitState unit_state(const std::string& unit, const std::string& revision) {
  return {unit, "kind/default/" + unit, revision, true, {cidr("172.18.0.250/24")}};
}

}  // namespace

// ---- adopting ----------------------------------------------------------------------------------

TEST_CASE("existing proxies are adopted with their agents' state, and none is created") {
  FleetRig rig;
  const auto id = rig.host.add_warm("kind");
  rig.host.give_unit(id, unit_state("u1", "s.d"));
  REQUIRE(rig.discover());
  const auto view = rig.view("u1");
  CHECK(view.present);
  CHECK(view.live);
  CHECK(view.acknowledged.text() == "s.d");
  CHECK(view.addresses == std::vector{ip("172.18.0.250")});
  CHECK(rig.with([](auto& fleet) { return fleet.held_addresses("kind"); }).size() == 1);
  CHECK(rig.with([](auto& fleet) { return fleet.held_addresses("other"); }).empty());
  CHECK(rig.until([&](auto&) { return rig.host.is_connected(id); }));  // to hear of its Envoy
  CHECK(rig.journal.count("create") == 0);
}

TEST_CASE("a proxy whose state cannot be read is adopted by its Hello") {
  FleetRig rig;
  const auto id = rig.host.add_warm("kind");
  rig.host.give_unit(id, unit_state("u1", "s.d"));
  rig.host.hide_state(id);
  SUBCASE("of the present image") {}
  SUBCASE("of a former one") {
    rig.host.make_outdated(id);
  }
  REQUIRE(rig.discover());
  REQUIRE(rig.until([](auto& fleet) { return fleet.view("u1").present; }));
  CHECK(rig.journal.count("remove") == 0);
  // Its Service may be gone: the sweep for orphans looks once more.
  CHECK(rig.until([&](auto&) { return rig.discoveries == 2; }));
}

TEST_CASE("warm proxies that are outdated or stopped are replaced") {
  FleetRig rig(1);
  const auto id = rig.host.add_warm("kind");
  SUBCASE("former image") {
    rig.host.make_outdated(id);
  }
  SUBCASE("former image, state unreadable") {
    rig.host.make_outdated(id);
    rig.host.hide_state(id);
  }
  SUBCASE("stopped") {
    rig.host.die(id);
  }
  REQUIRE(rig.discover());
  CHECK(rig.until([&](auto& fleet) {
    return rig.host.ids() == std::vector<std::string>{"p2"} && fleet.warm_count() == 1;
  }));
}

TEST_CASE("a failed listing is retried") {
  FleetRig rig;
  rig.host.fail_next("list", kEngineIsAway, 2);
  CHECK(rig.discover());
  CHECK(rig.journal.count("list") == 3);
}

TEST_CASE("proxies created or removed during a listing") {
  FleetRig rig;
  REQUIRE(rig.discover());
  const auto id = rig.serve("u1");
  const auto look_while = [&](std::function<void()> meanwhile) {
    rig.host.on_listing(std::move(meanwhile));
    rig.with([](auto& fleet) { fleet.discover(); });
    REQUIRE(rig.until([&](auto&) { return rig.discoveries == 2; }));
  };
  SUBCASE("a proxy created meanwhile is not taken for lost") {
    look_while([&] {
      rig.claim("u2");
      REQUIRE(rig.until_live("u2"));
    });
    CHECK(rig.view("u2").present);
    CHECK(rig.host.size() == 2);
    CHECK(rig.journal.count("remove") == 0);
  }
  SUBCASE("a proxy removed meanwhile does not stay adopted") {
    look_while([&] {
      rig.with([](auto& fleet) { fleet.remove("u1"); });
      REQUIRE(rig.until([](auto& fleet) { return fleet.held_units().empty(); }));
      REQUIRE(rig.until([](auto& fleet) { return !fleet.view("u1").coming; }));
    });
    CHECK(rig.until([&](auto& fleet) { return !fleet.knows(id); }));
  }
  SUBCASE("one that vanished unseen is reported") {
    rig.host.on_event(nullptr);
    rig.host.vanish(id);
    rig.with([](auto& fleet) { fleet.discover(); });
    CHECK(rig.until([](auto& fleet) { return !fleet.view("u1").present; }));
  }
  SUBCASE("one that stopped unseen is reported") {
    rig.host.on_event(nullptr);
    rig.host.die(id);
    rig.with([](auto& fleet) { fleet.discover(); });
    CHECK(rig.until([](auto& fleet) { return !fleet.view("u1").live; }));
  }
}

// ---- claiming ----------------------------------------------------------------------------------

TEST_CASE("a claim takes a warm proxy and renames it; no other claim gets it") {
  FleetRig rig(1);
  REQUIRE(rig.discover());
  REQUIRE(rig.until_warm(1));
  const auto warm = rig.host.ids().front();
  rig.claim("u1");
  CHECK(rig.view("u1").present);
  CHECK(rig.until([&](auto&) { return rig.host.name_of(warm) == "kind/default/u1"; }));
  rig.claim("u1");  // again: nothing
  rig.claim("u2");
  REQUIRE(rig.until_live("u2"));
  REQUIRE(rig.until_warm(1));
  CHECK(rig.host.size() == 3);
}

TEST_CASE("without a warm proxy, one is created") {
  FleetRig rig;
  REQUIRE(rig.discover());
  rig.claim("u1");
  CHECK((rig.view("u1").coming || rig.view("u1").present));
  REQUIRE(rig.until_live("u1"));
  CHECK_FALSE(rig.view("u1").coming);
  CHECK(rig.host.size() == 1);
}

TEST_CASE("a proxy listed while it is being created is left to its creator") {
  FleetRig rig;
  REQUIRE(rig.discover());
  rig.host.on_creating([&] {
    rig.with([](auto& fleet) { fleet.discover(); });
    REQUIRE(rig.until([&](auto&) { return rig.discoveries == 2; }));
  });
  rig.claim("u1");
  REQUIRE(rig.until_live("u1"));
  CHECK(rig.failures.empty());
  CHECK(rig.journal.count("remove") == 0);
  CHECK(rig.host.size() == 1);
}

TEST_CASE("proxies of another kindlb are left alone, but for their addresses") {
  FleetRig rig(1);
  const auto id = rig.host.add_warm("kind");
  rig.host.give_unit(id, unit_state("u1", "s.d"));
  rig.host.assign_to_other_kindlb(id);
  REQUIRE(rig.discover());
  REQUIRE(rig.until_warm(1));
  CHECK_FALSE(rig.view("u1").present);
  CHECK(rig.with([](auto& fleet) { return fleet.held_units(); }).empty());
  CHECK(rig.with([](auto& fleet) { return fleet.held_addresses("kind"); }).size() == 1);
  CHECK_FALSE(rig.host.is_connected(id));
  rig.host.vanish(id);
  CHECK(rig.until([](auto& fleet) { return fleet.held_addresses("kind").empty(); }));
}

TEST_CASE("a proxy that cannot be created is reported once, in the engine's words") {
  FleetRig rig;
  REQUIRE(rig.discover());
  rig.host.fail_next("create", kEngineSaysNo);
  rig.claim("u1");
  REQUIRE(rig.until([&](auto&) { return !rig.failures["u1"].empty(); }));
  CHECK(rig.failures["u1"] == std::vector{kEngineSaysNo});
  CHECK_FALSE(rig.view("u1").coming);
  rig.claim("u1");
  CHECK(rig.until_live("u1"));
}

TEST_CASE("a proxy no longer wanted when created is removed before that is reported") {
  FleetRig rig;
  REQUIRE(rig.discover());
  rig.host.fail_next("remove", kEngineIsAway, 3);
  rig.with([](auto& fleet) {
    fleet.claim({"u1", "kind/default/u1", "kind"});
    fleet.remove("u1");
    CHECK(fleet.view("u1").coming);
  });
  REQUIRE(rig.until([&](auto&) { return rig.changes["u1"] > 0; }));
  CHECK_FALSE(rig.view("u1").coming);
  CHECK(rig.host.size() == 0);
}

TEST_CASE("an address is prepared by the proxy that the claim will take") {
  FleetRig rig(2);
  REQUIRE(rig.discover());
  REQUIRE(rig.until_warm(2));
  const auto prepare = [&](const std::string& unit) {
    rig.with([&](auto& fleet) {
      fleet.prepare({unit, "kind/default/" + unit, "kind"}, {cidr("172.18.0.250/24")});
    });
  };
  prepare("u1");
  prepare("u1");  // asked once
  prepare("u2");
  prepare("u3");  // no proxy left to ask
  CHECK(rig.journal.count("prepare") == 2);
  const auto steps = rig.journal.steps();
  const auto asked = [&](std::size_t nth) {
    std::vector<std::string> out;
    for (const auto& step : steps)
      if (step.starts_with("prepare ")) out.push_back(step.substr(8));
    return out.at(nth);
  };
  rig.claim("u2");
  rig.claim("u1");
  REQUIRE(rig.until_acknowledged("u1", rig.apply("u1")));
  REQUIRE(rig.until_acknowledged("u2", rig.apply("u2")));
  CHECK(rig.host.holder_of("u1") == asked(0));
  CHECK(rig.host.holder_of("u2") == asked(1));
}
