#include "controller/fleet_rig.hpp"

using namespace kindlb;
using namespace kindlb::test;

namespace {

struct Served : FleetRig {
  Served() {
    REQUIRE(discover());
    id = serve("u1");
  }
  std::string id;
};

}  // namespace

TEST_CASE_FIXTURE(Served, "an apply is acknowledged, with what the probes found") {
  const auto view = this->view("u1");
  CHECK(view.sent.empty());
  CHECK(view.reach == core::Reach::Reached);
  CHECK(view.addresses == std::vector{ip("172.18.0.250")});
  CHECK(host.units_of(id).at(0).owner == "kind/default/u1");
}

TEST_CASE_FIXTURE(Served, "a rejection is kept, with its text, until it may be tried again") {
  host.reject_next(protocol::RejectStage::Envoy, "duplicate listener");
  const auto before = view("u1").acknowledged;
  const auto revision = apply("u1", 81);
  REQUIRE(until([](auto& fleet) { return !fleet.view("u1").rejection.empty(); }));
  CHECK(view("u1").rejected == revision);
  CHECK(view("u1").rejection == "duplicate listener");
  CHECK(view("u1").acknowledged == before);
  CHECK_FALSE(view("u1").address_refused);
  with([](auto& fleet) { fleet.forget_failure("u1"); });
  CHECK(view("u1").retried == revision);
  CHECK(view("u1").rejected.empty());
  CHECK(until_acknowledged("u1", apply("u1", 81)));
}

TEST_CASE_FIXTURE(Served, "an address that another host has is not held") {
  host.occupy_address(ip("172.18.0.250"));
  apply("u1", 81);
  REQUIRE(until([](auto& fleet) { return fleet.view("u1").address_refused; }));
  CHECK(view("u1").addresses.empty());
  CHECK(with([](auto& fleet) { return fleet.held_addresses("kind"); }).empty());
}

TEST_CASE_FIXTURE(Served, "probes that fail are told") {
  host.block_direct_path(true);
  auto wanted = config("u1", 82);
  wanted.routes = {{cidr("10.244.0.5/32"), ip("172.18.0.2")}};
  const auto revision = core::revision_of(wanted);
  with([&](auto& fleet) { fleet.apply("u1", wanted, revision, {{"TCP/82", {}}}); });
  REQUIRE(until_acknowledged("u1", revision));
  CHECK(view("u1").reach == core::Reach::Unreachable);
  CHECK(view("u1").reach_detail == "No route to host");
  SUBCASE("an apply without probes leaves it as it is") {
    with([&](auto& fleet) { fleet.apply("u1", wanted, revision, {}); });
    CHECK(view("u1").reach == core::Reach::Unreachable);
  }
}

TEST_CASE_FIXTURE(Served, "a lost channel is opened again, and what was lost with it is told") {
  host.mute(true);
  const auto revision = apply("u1", 81);
  CHECK(view("u1").sent == revision);
  host.mute(false);
  host.break_channel(id);
  REQUIRE(until([&](auto& fleet) { return fleet.view("u1").sent.empty(); }));
  REQUIRE(until([&](auto&) { return host.is_connected(id); }));
  CHECK(view("u1").acknowledged != revision);
  CHECK(until_acknowledged("u1", apply("u1", 81)));
}

TEST_CASE_FIXTURE(Served, "a message for a closed channel waits for the next one") {
  host.fail_next("connect", kEngineIsAway, 3);
  host.break_channel(id);
  REQUIRE(until([](auto& fleet) { return fleet.view("u1").sent.empty(); }));
  const auto older = apply("u1", 81);
  const auto newer = apply("u1", 82);  // takes the place of the one that waits
  CHECK(until_acknowledged("u1", newer));
  CHECK(journal.count("connect") >= 4);
}

TEST_CASE("a channel that takes nothing more is replaced, without waiting for an answer") {
  FleetRig rig;
  REQUIRE(rig.discover());
  rig.host.block_sends(rig.serve("u1"));
  const auto connects = rig.journal.count("connect");
  const auto begin = rig.clock.now();
  CHECK(rig.until_acknowledged("u1", rig.apply("u1", 81)));
  CHECK(rig.journal.count("connect") == connects + 1);
  CHECK(rig.clock.now() - begin < std::chrono::seconds(10));
}

TEST_CASE_FIXTURE(Served, "an agent that does not answer is asked on a new channel") {
  host.mute(true);
  apply("u1", 81);
  const auto connects = journal.count("connect");
  REQUIRE(until([&](auto&) { return journal.count("connect") > connects; }));
  CHECK(until([](auto& fleet) { return fleet.view("u1").sent.empty(); }));
}

TEST_CASE_FIXTURE(Served, "Envoy goes down and comes back") {
  const auto revision = view("u1").acknowledged;
  host.envoy_goes_down(id, "killed by signal 9");
  REQUIRE(until([](auto& fleet) { return !fleet.view("u1").live; }));
  CHECK(view("u1").trouble == "killed by signal 9");
  CHECK(view("u1").present);
  host.envoy_comes_up(id);
  REQUIRE(until_live("u1"));
  CHECK(view("u1").trouble.empty());
  CHECK(view("u1").acknowledged == revision);
}

TEST_CASE("a warm proxy whose Envoy is down is not given out") {
  FleetRig rig(1);
  REQUIRE(rig.discover());
  REQUIRE(rig.until_warm(1));
  const auto sick = rig.host.ids().front();
  rig.host.envoy_goes_down(sick, "oops");
  rig.claim("u1");
  REQUIRE(rig.until_live("u1"));
  REQUIRE(rig.until_acknowledged("u1", rig.apply("u1")));
  CHECK(rig.host.holder_of("u1") != sick);
}

TEST_CASE_FIXTURE(Served, "what an agent says of a former apply changes nothing") {
  const auto now = view("u1").acknowledged;
  with([&](auto& fleet) {
    fleet.on_agent_message(id, protocol::Applied{999, "u1", "old.d", {}});
    fleet.on_agent_message(
        id, protocol::Rejected{999, "u1", "old.d", protocol::RejectStage::Envoy, "no"});
    fleet.on_agent_message("unknown", protocol::Applied{1, "u1", "old.d", {}});
    fleet.on_agent_message(id, protocol::Bye{"so long"});
  });
  with([](auto&) {});
  CHECK(view("u1").acknowledged == now);
  CHECK(view("u1").rejection.empty());
}

TEST_CASE_FIXTURE(Served, "a superseded apply is no failure") {
  host.mute(true);
  apply("u1", 81);
  const auto last = with([&](auto& fleet) { return fleet.view("u1").sent; });
  with([&](auto& fleet) {
    for (std::uint64_t id_of_apply = 0; id_of_apply < 10; ++id_of_apply)
      fleet.on_agent_message(id, protocol::Rejected{id_of_apply, "u1", last.text(),
                                                    protocol::RejectStage::Superseded, "newer"});
  });
  with([](auto&) {});
  CHECK(view("u1").rejection.empty());
}
