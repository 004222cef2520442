// Proxies whose containers run while nobody gets through, with one Service each and with two.
#include "controller/fleet_rig.hpp"

using namespace kindlb;
using namespace kindlb::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// u1 and u2 are served, by a proxy each or by one, and agents send heartbeats.
struct LivenessRig : FleetRig {
  explicit LivenessRig(std::size_t per_proxy, std::size_t warm = 0) : FleetRig(warm, per_proxy) {
    host.announce_heartbeats(protocol::kHeartbeatInterval);
    start_heartbeats();
    REQUIRE(discover());
    id = serve("u1");
    serve("u2");
  }
  /// As the reconciler does for a Service without a proxy.
  void claim_again() {
    for (const auto* unit : {"u1", "u2"}) {
      if (const auto seen = view(unit); seen.present || seen.coming) continue;
      claim(unit);
      REQUIRE(until_live(unit));
      REQUIRE(until_acknowledged(unit, apply(unit)));
    }
  }
  bool until_given_up() {
    return until([](auto& fleet) { return !fleet.view("u1").present && !fleet.view("u1").coming; });
  }

  std::string id;
};

struct Fault {
  std::string name;
  void (*begin)(testing::FakeProxyHost& host, const std::string& id);
  std::string text;
  int told_within;     ///< in milliseconds
  int removed_within;  ///< in milliseconds
};

const std::vector<Fault> kAllFaults = {
    {"paused", [](auto& host, auto& id) { host.pause(id); }, "its container is paused", 0, 2'100},
    {"disconnected", [](auto& host, auto& id) { host.disconnect_network(id); },
     "its container is disconnected from its network", 0, 2'100},
    {"suspended", [](auto& host, auto& id) { host.freeze(id, true); },
     "its agent was stopped by a signal", 4'000, 4'000},
    {"hanging", [](auto& host, auto& id) { host.freeze(id, false); }, "its agent does not answer",
     12'000, 12'000},
    {"without its addresses",
     [](auto& host, auto& id) { host.report_network_problem(id, "the interface is gone"); },
     "the interface is gone", 0, 2'100}};

}  // namespace

TEST_CASE("a proxy that cannot serve is told, removed, and its Services get another one") {
  for (const std::size_t per_proxy : {1U, 2U})
    for (const auto& fault : kAllFaults) {
      CAPTURE(fault.name);
      CAPTURE(per_proxy);
      LivenessRig rig(per_proxy);
      const auto begin = rig.clock.now();
      fault.begin(rig.host, rig.id);
      REQUIRE(rig.until([](auto& fleet) { return !fleet.view("u1").live; }));
      CHECK(rig.clock.now() - begin <= milliseconds(fault.told_within));
      CHECK(rig.with([&](auto&) { return rig.troubles["u1"]; }) == fault.text);
      CHECK(rig.view("u2").live == (per_proxy == 1));
      REQUIRE(rig.until_given_up());
      CHECK(rig.clock.now() - begin <= milliseconds(fault.removed_within));
      CHECK_FALSE(rig.with([&](auto& fleet) { return fleet.knows(rig.id); }));
      rig.claim_again();
      CHECK(rig.host.size() == (per_proxy == 1 ? 2 : 1));
      CHECK(rig.host.holder_of("u1") != rig.id);
      CHECK(rig.journal.count("remove") == 1);
    }
}

TEST_CASE("while it is being removed, its Services neither get another one nor are finished") {
  LivenessRig rig(2);
  rig.host.fail_next("remove", kEngineIsAway, 3);
  rig.host.pause(rig.id);
  REQUIRE(rig.until([&](auto&) { return rig.journal.count("remove") == 2; }));
  CHECK(rig.view("u1").coming);
  CHECK(rig.view("u1").trouble ==
        "its container is paused; its container cannot be removed: refused");
  rig.claim("u1");
  CHECK(rig.journal.count("create") == 1);
  rig.host.unpause(rig.id);  // too late: the engine was asked to remove it
  REQUIRE(rig.until_given_up());
  CHECK(rig.host.size() == 0);
}

TEST_CASE("a proxy that recovers in time goes on") {
  LivenessRig rig(2);
  SUBCASE("paused for a moment") {
    rig.host.pause(rig.id);
    rig.pass(milliseconds(1'500));
    rig.host.unpause(rig.id);
  }
  SUBCASE("connected to its network again") {
    rig.host.disconnect_network(rig.id);
    rig.pass(milliseconds(1'500));
    rig.host.connect_network(rig.id);
  }
  SUBCASE("its agent has restored its network") {
    rig.host.report_network_problem(rig.id, "no route");
    rig.pass(milliseconds(1'500));
    rig.host.report_network_problem(rig.id, "");
  }
  SUBCASE("its stream had hung") {
    rig.host.clog_stream(rig.id);
  }
  rig.pass(seconds(60));
  CHECK(rig.view("u1").live);
  CHECK(rig.journal.count("remove") == 0);
  CHECK(rig.host.holder_of("u1") == rig.id);
}

TEST_CASE("a paused proxy that stops is started, not replaced") {
  LivenessRig rig(1);
  rig.host.pause(rig.id);
  rig.host.die(rig.id);
  REQUIRE(rig.until(
      [](auto& fleet) { return fleet.view("u1").trouble == "its container has stopped"; }));
  rig.pass(seconds(5));
  CHECK(rig.journal.count("remove") == 0);
}

TEST_CASE("an engine that is silent for 20 s costs no proxy") {
  LivenessRig rig(2);
  rig.host.clog_stream(rig.id);  // all messages come through the engine
  rig.host.fail_next("inspect", kEngineIsAway, 6);
  rig.host.fail_next("connect", kEngineIsAway, 6);
  rig.pass(seconds(60));
  CHECK(rig.view("u1").live);
  CHECK(rig.journal.count("remove") == 0);
}

TEST_CASE("warm proxies that freeze are discarded") {
  for (const auto& fault : kAllFaults) {
    CAPTURE(fault.name);
    FleetRig rig(1);
    rig.start_heartbeats();
    REQUIRE(rig.discover());
    REQUIRE(rig.until_warm(1));
    const auto id = rig.host.ids().front();
    fault.begin(rig.host, id);
    REQUIRE(rig.until([](auto& fleet) { return fleet.warm_count() == 0; }));
    rig.claim("u1");  // none is given out that cannot serve
    REQUIRE(rig.until_live("u1"));
    CHECK(rig.host.holder_of("u1") != id);
    REQUIRE(rig.until_warm(1));
    CHECK_FALSE(rig.with([&](auto& fleet) { return fleet.knows(id); }));
  }
}

TEST_CASE("a kindlb that starts finds what is wrong with its proxies") {
  FleetRig rig;
  rig.start_heartbeats();
  const auto id = rig.host.add_warm("kind");
  rig.host.give_unit(id, {"u1", "kind/default/u1", "s.d", true, {cidr("172.18.0.250/24")}, 1});
  SUBCASE("paused") {
    rig.host.pause(id);
  }
  SUBCASE("disconnected") {
    rig.host.disconnect_network(id);
  }
  SUBCASE("with an agent that is stopped and never says Hello") {
    rig.host.freeze(id, true);
  }
  SUBCASE("paused while the event stream was broken") {
    REQUIRE(rig.discover());
    REQUIRE(rig.until_live("u1"));
    rig.host.on_event(nullptr);
    rig.host.pause(id);
  }
  const auto begin = rig.clock.now();
  REQUIRE(rig.discover());
  REQUIRE(rig.until([&](auto&) { return !rig.troubles["u1"].empty(); }));
  CHECK(rig.clock.now() - begin < seconds(5));
  CHECK(rig.until([&](auto& fleet) { return !fleet.knows(id); }));
  CHECK(rig.host.size() == 0);
}

TEST_CASE("while all is well, nothing is asked of the engine, and heartbeats concern no Service") {
  LivenessRig rig(2);
  const auto before = rig.journal.size();
  const auto changes = rig.with([&](auto&) { return rig.changes; });
  rig.pass(std::chrono::minutes(30));
  CHECK(rig.journal.size() == before);
  CHECK(rig.with([&](auto&) { return rig.changes; }) == changes);
}
