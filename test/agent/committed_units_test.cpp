#include "committed_units.hpp"

#include "agent/fakes.hpp"
#include "agent/no_space.hpp"
#include "support/temp_folder.hpp"

#include <doctest/doctest.h>

using namespace kindlb;
using namespace kindlb::agent;
using testing::unit_at;

namespace {

using UnitStateOf = CommittedUnit::State;

CommittedUnits stored_in(const test::TempFolder& folder, bool behind_rules = true) {
  return {UnitStore(folder / "units"), behind_rules};
}

protocol::Unit with_variants(protocol::Unit unit) {
  unit.udp_rules = {testing::udp_rule("172.18.0.9", 53)};
  unit.listeners_behind_rules = {{"behind", R"({"@type":"L","name":"behind"})"}};
  return unit;
}

std::string no_reason(const protocol::Unit&) {
  return "unknown";
}

}  // namespace

TEST_CASE("what is committed comes back after a restart, and what is released does not") {
  const test::TempFolder folder;
  auto units = stored_in(folder);
  const auto web = unit_at("web", "172.18.0.9");
  units.commit(web, 7);
  units.commit(unit_at("dns", "172.18.0.10"), 8);
  CHECK(*units.find("web") ==
        CommittedUnit{.unit = web, .state = UnitStateOf::Acknowledged, .committed_by = 7});
  CHECK(units.release("dns")->unit == "dns");
  CHECK(units.release("dns") == std::nullopt);

  auto again = stored_in(folder);
  CHECK(again.empty());
  again.load();
  CHECK(*again.find("web") ==
        CommittedUnit{.unit = web, .state = UnitStateOf::Unacknowledged, .committed_by = 0});
  CHECK(again.find("dns") == nullptr);
}

TEST_CASE("a unit that could not be stored is served, and stored when there is space again") {
  const test::TempFolder folder;
  auto units = stored_in(folder);
  {
    const testing::NoSpace full;
    units.commit(unit_at("web", "172.18.0.9"), 1);
    units.commit(unit_at("dns", "172.18.0.10"), 2);
    CHECK_FALSE(units.store_missing());
  }
  CHECK(units.served().size() == 2);
  units.release("dns");
  CHECK(units.store_missing());
  auto again = stored_in(folder);
  again.load();
  REQUIRE(again.served().size() == 1);
  CHECK(again.served()[0]->unit == unit_at("web", "172.18.0.9"));
}

TEST_CASE("units are stored as they were sent, whichever listeners are in use") {
  const auto sent = with_variants(unit_at("dns", "172.18.0.9"));
  const auto behind = swap_listener_variants(sent);
  CHECK(behind.listeners == sent.listeners_behind_rules);
  CHECK(swap_listener_variants(behind) == sent);
  const auto plain = unit_at("web", "172.18.0.9");
  CHECK(swap_listener_variants(plain) == plain);

  const test::TempFolder folder;
  stored_in(folder, true).commit(behind, 1);
  auto without_rules = stored_in(folder, false);
  without_rules.load();
  REQUIRE(without_rules.find("dns") != nullptr);
  CHECK(without_rules.find("dns")->unit == sent);
  auto with_rules = stored_in(folder, true);
  with_rules.load();
  REQUIRE(with_rules.find("dns") != nullptr);
  CHECK(with_rules.find("dns")->unit == behind);
}

TEST_CASE("only what Envoy acknowledges is reported so, until Envoy exits") {
  const test::TempFolder folder;
  auto units = stored_in(folder);
  for (const char* name : {"a", "b", "c", "d"}) units.commit(unit_at(name, "172.18.0.9"), 1);
  units.forget_acknowledgements();
  units.suspend("d", "its address is in use");
  units.suspend("none", "there is no such unit");
  units.acknowledge({{"a", testing::kAcked}, {"b", testing::nacked("bad")}, {"d", testing::kAcked}},
                    no_reason);
  const auto acknowledged = [&] {
    std::string out;
    for (const auto& state : units.states())
      if (state.acknowledged) out += state.unit;
    return out;
  };
  CHECK(acknowledged() == "a");
  CHECK(units.find("d")->state == UnitStateOf::Suspended);
  units.forget_acknowledgements();
  CHECK(acknowledged().empty());
  CHECK(units.find("d")->state == UnitStateOf::Suspended);
}

TEST_CASE("a unit's report") {
  const test::TempFolder folder;
  auto units = stored_in(folder);
  const auto web = unit_at("web", "172.18.0.9");
  units.commit(web, 1);
  REQUIRE(units.states().size() == 1);
  CHECK(units.states()[0] == protocol::UnitState{.unit = "web",
                                                 .owner = "kind/default/web",
                                                 .revision = "r1",
                                                 .acknowledged = true,
                                                 .addresses = web.addresses,
                                                 .watches = 1});
}

TEST_CASE("suspended units are neither served nor given to Envoy until they are applied again") {
  const test::TempFolder folder;
  auto units = stored_in(folder);
  units.commit(unit_at("web", "172.18.0.9"), 1);
  units.commit(with_variants(unit_at("dns", "172.18.0.10")), 2);
  units.suspend_filtered("the kernel refused");
  REQUIRE(units.served().size() == 1);
  CHECK(units.served()[0]->unit.unit == "web");
  CHECK(units.snapshot().clusters.size() == 1);
  CHECK(units.addresses().size() == 2);
  units.commit(with_variants(unit_at("dns", "172.18.0.10")), 3);
  CHECK(units.snapshot().clusters.size() == 2);
  CHECK(units.snapshot({"web", "dns"}) == XdsSnapshot());
}
