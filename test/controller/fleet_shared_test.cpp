// Several Services on one proxy: who joins whom, who leaves, and what happens to all of them.
#include "controller/fleet_rig.hpp"
#include "kindlb/proxy/containers.hpp"

using namespace kindlb;
using namespace kindlb::test;

namespace {

/// No limit but Envoy's.
class SharedRig : public FleetRig {
 public:
  explicit SharedRig(std::size_t warm = 0, std::size_t per_proxy = 0) : FleetRig(warm, per_proxy) {}

  void claim_for(const std::string& cluster, const std::string& unit, std::size_t watches = 1) {
    with([&](auto& fleet) { fleet.claim({unit, cluster + "/default/" + unit, "kind", watches}); });
  }
  void remove(const std::string& unit) {
    with([&](auto& fleet) { fleet.remove(unit); });
  }
  bool until_gone(const std::string& unit) {
    return until(
        [&](auto& fleet) { return !fleet.view(unit).present && !fleet.view(unit).coming; });
  }
  /// Served, all of them; the proxies that hold them.
  std::set<std::string> serve_all(const std::vector<std::string>& units) {
    std::set<std::string> out;
    for (const auto& unit : units) out.insert(serve(unit));
    return out;
  }
};

protocol::UnitState unit_state(const std::string& unit, std::size_t watches = 1) {
  return {unit, "kind/default/" + unit, "s.d", true, {cidr("172.18.0.250/24")}, watches};
}

using Ids = std::vector<std::string>;

}  // namespace

// ---- joining -----------------------------------------------------------------------------------

TEST_CASE("Services of one cluster share a proxy, named after the cluster") {
  SharedRig rig(1);
  REQUIRE(rig.discover());
  REQUIRE(rig.until_warm(1));
  const auto holders = rig.serve_all({"u1", "u2", "u3"});
  REQUIRE(holders.size() == 1);
  CHECK(rig.host.units_of(*holders.begin()).size() == 3);
  CHECK(rig.until(
      [&](auto&) { return rig.host.name_of(*holders.begin()) == "kindlb-shared-kind-1"; }));
  CHECK(rig.journal.count("rename") == 1);
  CHECK(rig.with([](auto& fleet) { return fleet.held_units(); }).size() == 3);
}

TEST_CASE("the limit of Services per proxy is kept") {
  SharedRig rig(0, 2);
  REQUIRE(rig.discover());
  CHECK(rig.serve_all({"u1", "u2", "u3", "u4", "u5"}).size() == 3);
}

TEST_CASE("claims made while a proxy is being created join it") {
  SharedRig rig;
  REQUIRE(rig.discover());
  rig.with([](auto& fleet) {
    for (int i = 0; i < 30; ++i) {
      const auto unit = "u" + std::to_string(i);
      fleet.claim({unit, "kind/default/" + unit, "kind"});
      CHECK(fleet.view(unit).coming);
    }
  });
  for (int i = 0; i < 30; ++i) REQUIRE(rig.until_live("u" + std::to_string(i)));
  CHECK(rig.host.size() == 1);
  CHECK(rig.journal.count("create") == 1);
}

TEST_CASE("Services prepared together are placed together") {
  SharedRig rig(2);
  REQUIRE(rig.discover());
  REQUIRE(rig.until_warm(2));
  rig.with([](auto& fleet) {
    for (const auto* unit : {"u1", "u2", "u3"})
      fleet.prepare({unit, std::string("kind/default/") + unit, "kind"}, {cidr("172.18.0.250/24")});
  });
  CHECK(rig.journal.count("prepare p1") == 3);
  CHECK(rig.serve_all({"u3", "u1", "u2"}) == std::set<std::string>{"p1"});
}

TEST_CASE("a reservation counts only while the Service still fits") {
  SharedRig rig(1);
  const auto id = rig.host.add_warm("kind");
  rig.host.limit_watches(id, 10);
  REQUIRE(rig.discover());
  REQUIRE(rig.until_warm(1));
  rig.with([](auto& fleet) {
    fleet.prepare({"grown", "kind/default/grown", "kind"}, {cidr("172.18.0.250/24")});
  });
  rig.claim_for("kind", "u2", 4);
  rig.claim_for("kind", "grown", 4);  // with room to change either once more that makes 12
  for (const auto* unit : {"u2", "grown"}) {
    REQUIRE(rig.until_live(unit));
    REQUIRE(rig.until_acknowledged(unit, rig.apply(unit)));
  }
  CHECK(rig.host.holder_of("u2") == id);
  CHECK(rig.host.holder_of("grown") != id);
}

TEST_CASE("another cluster gets a proxy of its own") {
  SharedRig rig;
  REQUIRE(rig.discover());
  rig.claim_for("one", "u1");
  rig.claim_for("two", "u2");
  rig.claim_for("one", "u3");
  for (const auto* unit : {"u1", "u2", "u3"}) REQUIRE(rig.until_live(unit));
  for (const auto* unit : {"u1", "u2", "u3"})
    REQUIRE(rig.until_acknowledged(unit, rig.apply(unit)));
  CHECK(rig.host.holder_of("u1") == rig.host.holder_of("u3"));
  CHECK(rig.host.holder_of("u1") != rig.host.holder_of("u2"));
  CHECK(rig.until(
      [&](auto&) { return rig.host.name_of(rig.host.holder_of("u2")) == "kindlb-shared-two-1"; }));
}

TEST_CASE("a full proxy is followed by another with the next number") {
  SharedRig rig(1);
  const auto id = rig.host.add_warm("kind");
  rig.host.limit_watches(id, 10);
  REQUIRE(rig.discover());
  REQUIRE(rig.until_warm(1));
  rig.claim_for("kind", "large", 4);
  rig.claim_for("kind", "u2", 4);  // with room to change either once more that makes 12
  for (const auto* unit : {"large", "u2"}) {
    REQUIRE(rig.until_live(unit));
    REQUIRE(rig.until_acknowledged(unit, rig.apply(unit)));
  }
  CHECK(rig.host.holder_of("large") == id);
  CHECK(rig.host.holder_of("u2") != id);
  CHECK(rig.until(
      [&](auto&) { return rig.host.name_of(rig.host.holder_of("u2")) == "kindlb-shared-kind-2"; }));
}

TEST_CASE("a proxy that does not serve gets no further Service") {
  SharedRig rig;
  REQUIRE(rig.discover());
  const auto id = rig.serve("u1");
  SUBCASE("Envoy is down") {
    rig.host.envoy_goes_down(id, "killed");
  }
  SUBCASE("the container has stopped") {
    rig.host.die(id);
  }
  REQUIRE(rig.until([](auto& fleet) { return !fleet.view("u1").live; }));
  CHECK(rig.serve("u2") != id);
  CHECK(rig.view("u1").present);  // and stays where it is
}

TEST_CASE("a proxy of an outdated image is adopted but gets no further Service") {
  SharedRig rig;
  const auto id = rig.host.add_warm("kind");
  rig.host.give_unit(id, unit_state("u1"));
  rig.host.make_outdated(id);
  REQUIRE(rig.discover());
  CHECK(rig.view("u1").live);
  CHECK(rig.serve("u2") != id);
}

// ---- each for itself ---------------------------------------------------------------------------

TEST_CASE("a rejection concerns only the unit that was rejected") {
  SharedRig rig;
  REQUIRE(rig.discover());
  rig.serve("u1");
  rig.claim("u2");
  rig.host.reject_next(protocol::RejectStage::Address, "another host has it");
  rig.apply("u2");
  REQUIRE(rig.until([](auto& fleet) { return !fleet.view("u2").rejection.empty(); }));
  CHECK(rig.view("u2").address_refused);
  CHECK(rig.view("u2").addresses.empty());
  CHECK(rig.view("u1").rejection.empty());
  CHECK(rig.view("u1").addresses.size() == 1);
}

TEST_CASE("messages sent while the channel is closed are delivered later") {
  SharedRig rig;
  REQUIRE(rig.discover());
  const auto id = rig.serve("u1");
  rig.serve("u2");
  rig.host.fail_next("connect", kEngineIsAway, 2);
  rig.host.break_channel(id);
  const auto first = rig.apply("u1", 81);
  const auto second = rig.apply("u2", 82);
  CHECK(rig.until_acknowledged("u1", first));
  CHECK(rig.until_acknowledged("u2", second));
}

// ---- leaving -----------------------------------------------------------------------------------

TEST_CASE("a unit is released by a message, the last one with its container") {
  SharedRig rig;
  REQUIRE(rig.discover());
  const auto id = rig.serve("u1");
  rig.serve("u2");
  rig.remove("u1");
  CHECK(rig.until_gone("u1"));
  CHECK(rig.journal.count("release " + id + " u1") == 1);
  CHECK(rig.host.units_of(id).size() == 1);
  CHECK(rig.view("u2").live);
  CHECK(rig.journal.count("remove") == 0);
  rig.remove("u2");
  CHECK(rig.until_gone("u2"));
  CHECK(rig.host.size() == 0);
}

TEST_CASE("releasing all units at once removes the container") {
  SharedRig rig;
  REQUIRE(rig.discover());
  rig.serve_all({"u1", "u2", "u3"});
  rig.with([](auto& fleet) {
    for (const auto* unit : {"u1", "u2", "u3"}) fleet.remove(unit);
  });
  for (const auto* unit : {"u1", "u2", "u3"}) CHECK(rig.until_gone(unit));
  CHECK(rig.host.size() == 0);
}

TEST_CASE("no unit is released before its agent confirms it") {
  SharedRig rig;
  REQUIRE(rig.discover());
  const auto id = rig.serve("u1");
  rig.serve("u2");
  rig.host.mute(true);
  rig.remove("u1");
  CHECK(rig.view("u1").coming);
  CHECK_FALSE(rig.view("u1").present);
  CHECK(rig.with([](auto& fleet) { return fleet.held_addresses("kind"); }).size() == 1);
  rig.host.mute(false);
  SUBCASE("it is asked again over a new channel") {
    rig.host.break_channel(id);
    CHECK(rig.until_gone("u1"));
    CHECK(rig.host.units_of(id).size() == 1);
  }
  SUBCASE("its answer was lost") {
    rig.host.forget_unit(id, "u1");
    rig.host.break_channel(id);
    CHECK(rig.until_gone("u1"));
  }
  SUBCASE("it does not answer in time") {
    CHECK(rig.until_gone("u1"));
  }
  SUBCASE("the container is no more") {
    rig.host.vanish(id);
    CHECK(rig.until_gone("u1"));
    CHECK(rig.until_gone("u2"));
  }
}

TEST_CASE("a request withdrawn before its proxy exists does not delay the others") {
  SharedRig rig;
  REQUIRE(rig.discover());
  rig.with([](auto& fleet) {
    fleet.claim({"u1", "kind/default/u1", "kind"});
    fleet.claim({"u2", "kind/default/u2", "kind"});
    fleet.remove("u1");
    CHECK_FALSE(fleet.view("u1").coming);
  });
  REQUIRE(rig.until_live("u2"));
  CHECK(rig.host.size() == 1);
  CHECK_FALSE(rig.view("u1").present);
}

TEST_CASE("a unit that outgrows its proxy moves to another, and only that one") {
  SharedRig rig;
  const auto id = rig.host.add_warm("kind");
  rig.host.limit_watches(id, 6);
  rig.host.give_unit(id, unit_state("u1", 2));
  rig.host.give_unit(id, unit_state("u2", 2));
  REQUIRE(rig.discover());
  auto wanted = FleetRig::config("u1");
  for (const auto* name : {"b", "c"}) wanted.backends.push_back({.name = name});
  rig.with([&](auto& fleet) { fleet.apply("u1", wanted, core::revision_of(wanted), {}); });
  REQUIRE(rig.until_gone("u1"));
  CHECK(rig.journal.count("release " + id + " u1") == 1);
  rig.claim_for("kind", "u1", 3);
  REQUIRE(rig.until_live("u1"));
  rig.with([&](auto& fleet) { fleet.apply("u1", wanted, core::revision_of(wanted), {}); });
  REQUIRE(rig.until_acknowledged("u1", core::revision_of(wanted)));
  CHECK(rig.host.holder_of("u1") != id);
  CHECK(rig.host.holder_of("u2") == id);
}

// ---- adopting and healing ----------------------------------------------------------------------

TEST_CASE("all Services of an adopted proxy are known, and new ones join them") {
  SharedRig rig;
  const auto id = rig.host.add_warm("kind");
  for (const auto* unit : {"u1", "u2", "u3"}) rig.host.give_unit(id, unit_state(unit));
  REQUIRE(rig.host.rename_shared(id, "kind", 4).ok());
  SUBCASE("as its state says") {}
  SUBCASE("as its Hello says") {
    rig.host.hide_state(id);
  }
  REQUIRE(rig.discover());
  for (const auto* unit : {"u1", "u2", "u3"}) {
    REQUIRE(rig.until_live(unit));
    CHECK(rig.view(unit).acknowledged.text() == "s.d");
  }
  CHECK(rig.serve("u4") == id);
  CHECK(rig.journal.count("create") == 0);
  CHECK(rig.journal.count("rename") == 1);  // the one above
}

TEST_CASE("two proxies with the same Service: the second releases it") {
  SharedRig rig;
  const auto first = rig.host.add_warm("kind");
  const auto second = rig.host.add_warm("kind");
  rig.host.give_unit(first, unit_state("u1"));
  rig.host.give_unit(second, unit_state("u1"));
  SUBCASE("which holds others") {
    rig.host.give_unit(second, unit_state("u2"));
    REQUIRE(rig.discover());
    CHECK(rig.until([&](auto&) { return rig.host.units_of(second).size() == 1; }));
    CHECK(rig.view("u2").live);
  }
  SUBCASE("which holds nothing else") {
    REQUIRE(rig.discover());
    CHECK(rig.until([&](auto&) { return rig.host.ids() == Ids{first}; }));
  }
  CHECK(rig.host.units_of(first).size() == 1);
  CHECK(rig.view("u1").live);
}

TEST_CASE("a lost shared proxy is reported to all its Services and replaced once") {
  SharedRig rig;
  REQUIRE(rig.discover());
  const auto id = rig.serve("u1");
  rig.serve_all({"u2", "u3"});
  rig.with([&](auto&) { rig.changes.clear(); });
  rig.host.vanish(id);
  for (const auto* unit : {"u1", "u2", "u3"}) REQUIRE(rig.until_gone(unit));
  CHECK(rig.with([&](auto&) { return rig.changes.size(); }) == 3);
  CHECK(rig.serve_all({"u1", "u2", "u3"}).size() == 1);
}

TEST_CASE("a shared proxy that stopped is started once for all") {
  SharedRig rig;
  REQUIRE(rig.discover());
  const auto id = rig.serve("u1");
  rig.serve("u2");
  rig.host.die(id);
  REQUIRE(rig.until([](auto& fleet) { return !fleet.view("u2").live; }));
  rig.with([](auto& fleet) {
    fleet.start("u1");
    fleet.start("u2");
  });
  CHECK(rig.until_live("u1"));
  CHECK(rig.until_live("u2"));
  CHECK(rig.journal.count("start " + id) == 1);
}

TEST_CASE("one each: what was shared stays together, the next one is alone") {
  FleetRig rig;
  const auto id = rig.host.add_warm("kind");
  rig.host.give_unit(id, unit_state("u1"));
  rig.host.give_unit(id, unit_state("u2"));
  REQUIRE(rig.discover());
  CHECK(rig.view("u1").live);
  CHECK(rig.view("u2").live);
  CHECK(rig.serve("u3") != id);
  rig.with([](auto& fleet) { fleet.remove("u1"); });
  CHECK(rig.until([](auto& fleet) { return !fleet.view("u1").coming; }));
  CHECK(rig.view("u2").live);
}
