#include "fleet/assigned_unit.hpp"

#include "support/builders.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>

using namespace kindlb;
using namespace kindlb::test;
using controller::AssignedUnit;
using core::Reach;
using core::Revision;
using protocol::ProbeResult;
using protocol::RejectStage;

namespace {

const Revision kFirst = Revision::parse("a.d");
const Revision kSecond = Revision::parse("b.d");

AssignedUnit applied_once() {
  AssignedUnit unit("kind/default/web", 1);
  unit.begin_apply(7, kFirst, {cidr("172.18.0.250/24")}, true);
  REQUIRE(unit.confirm({7, "u1", "a.d", {{"TCP/80", ProbeResult::Reached, ""}}}));
  return unit;
}

}  // namespace

TEST_CASE("a revision is sent until the agent answers, then acknowledged") {
  AssignedUnit unit("kind/default/web", 1);
  CHECK(unit.view() == core::ProxyView{.present = true});
  unit.begin_apply(7, kFirst, {cidr("172.18.0.250/24")}, true);
  CHECK(unit.view().sent == kFirst);
  CHECK(unit.view().addresses == std::vector{ip("172.18.0.250")});
  CHECK(unit.awaits(7));
  CHECK(unit.confirm({7, "u1", "a.d", {}}));
  CHECK(unit.view().sent.empty());
  CHECK(unit.view().acknowledged == kFirst);
  CHECK_FALSE(unit.awaits(7));
}

TEST_CASE("only the newest request is answered") {
  auto unit = applied_once();
  unit.begin_apply(8, kSecond, {}, false);
  unit.begin_apply(9, kSecond, {}, false);
  CHECK_FALSE(unit.awaits(8));
  CHECK_FALSE(unit.confirm({8, "u1", "b.d", {}}));
  CHECK_FALSE(unit.reject({8, "u1", "b.d", RejectStage::Envoy, "no"}));
  CHECK_FALSE(unit.reject({9, "u1", "b.d", RejectStage::Superseded, "newer"}));
  CHECK(unit.view().sent == kSecond);
  CHECK(unit.view().acknowledged == kFirst);
}

TEST_CASE("a rejected revision leaves the former one acknowledged") {
  auto unit = applied_once();
  unit.begin_apply(8, kSecond, {cidr("172.18.0.251/24")}, false);
  REQUIRE(unit.reject({8, "u1", "b.d", RejectStage::Envoy, "duplicate listener"}));
  CHECK(unit.view().sent.empty());
  CHECK(unit.view().rejected == kSecond);
  CHECK(unit.view().rejection == "duplicate listener");
  CHECK_FALSE(unit.view().address_refused);
  CHECK(unit.view().acknowledged == kFirst);
  SUBCASE("until it may be tried again, with the reason known meanwhile") {
    unit.forget_failure();
    CHECK(unit.view().rejected.empty());
    CHECK(unit.view().retried == kSecond);
    CHECK(unit.view().rejection == "duplicate listener");
    CHECK(unit.view().reach == Reach::Unknown);
    SUBCASE("and confirmed") {
      unit.begin_apply(9, kSecond, {}, false);
      CHECK(unit.view().retried == kSecond);
      REQUIRE(unit.confirm({9, "u1", "b.d", {}}));
    }
    SUBCASE("and another one is sent instead") {
      unit.begin_apply(9, kFirst, {}, false);
    }
    SUBCASE("and rejected again") {
      unit.begin_apply(9, kSecond, {}, false);
      REQUIRE(unit.reject({9, "u1", "b.d", RejectStage::Envoy, "duplicate listener"}));
      CHECK(unit.view().rejected == kSecond);
    }
    CHECK(unit.view().retried.empty());
  }
  SUBCASE("until another is confirmed") {
    unit.begin_apply(9, kSecond, {}, false);
    REQUIRE(unit.confirm({9, "u1", "b.d", {}}));
    CHECK(unit.view().rejected.empty());
    CHECK(unit.view().rejection.empty());
  }
}

TEST_CASE("an address that another host has is not held") {
  auto unit = applied_once();
  unit.begin_apply(8, kSecond, {cidr("172.18.0.251/24")}, false);
  REQUIRE(unit.reject({8, "u1", "b.d", RejectStage::Address, "in use"}));
  CHECK(unit.view().address_refused);
  CHECK(unit.view().addresses.empty());
}

TEST_CASE("the worst probe counts") {
  struct Case {
    const char* name;
    std::vector<protocol::ProbeOutcome> probes;
    Reach reach;
    const char* detail;
  };
  const std::vector<Case> cases{
      {"none: as before", {}, Reach::Unknown, ""},
      {"reached", {{"a", ProbeResult::Reached, ""}}, Reach::Reached, ""},
      {"one refused",
       {{"a", ProbeResult::Reached, ""}, {"b", ProbeResult::Refused, "reset"}},
       Reach::Refused,
       "reset"},
      {"one unreachable",
       {{"a", ProbeResult::Unreachable, "no route"}, {"b", ProbeResult::Refused, "reset"}},
       Reach::Unreachable,
       "no route"},
  };
  for (const auto& one : cases) {
    CAPTURE(one.name);
    AssignedUnit unit("kind/default/web", 1);
    unit.begin_apply(7, kFirst, {}, true);
    REQUIRE(unit.confirm({7, "u1", "a.d", one.probes}));
    CHECK(unit.view().reach == one.reach);
    CHECK(unit.view().reach_detail == one.detail);
  }
}

TEST_CASE("an apply without probes leaves what is known of the path") {
  auto unit = applied_once();
  unit.begin_apply(8, kSecond, {}, false);
  CHECK(unit.view().reach == Reach::Reached);
  unit.begin_apply(9, kSecond, {}, true);
  CHECK(unit.view().reach == Reach::Unknown);
}

TEST_CASE("while it is being released, no answer to an apply counts") {
  auto unit = applied_once();
  unit.begin_apply(8, kSecond, {}, false);
  unit.begin_release(9);
  CHECK(unit.releasing());
  CHECK(unit.view().sent.empty());
  CHECK_FALSE(unit.confirm({8, "u1", "b.d", {}}));
  CHECK_FALSE(unit.reject({8, "u1", "b.d", RejectStage::Envoy, "no"}));
  CHECK(unit.awaits(9));
  unit.begin_release(10);  // asked again on another channel
  CHECK_FALSE(unit.awaits(9));
  CHECK(unit.release_id() == 10);
}

TEST_CASE("what is lost with the channel awaits no answer") {
  auto unit = applied_once();
  unit.begin_apply(8, kSecond, {}, false);
  unit.forget_sent();
  CHECK(unit.view().sent.empty());
  CHECK_FALSE(unit.awaits(8));
  CHECK(unit.confirm({8, "u1", "b.d", {}}));  // which came all the same
}

TEST_CASE("a report replaces what was believed") {
  AssignedUnit unit("kind/default/old", 1);
  protocol::UnitState state{"u1", "kind/default/web", "a.d", true, {cidr("172.18.0.250/24")}, 3};
  unit.adopt(state);
  CHECK(unit.owner() == "kind/default/web");
  CHECK(unit.watches() == 3);
  CHECK(unit.view().acknowledged == kFirst);
  CHECK(unit.view().addresses == std::vector{ip("172.18.0.250")});
  state.acknowledged = false;
  unit.adopt(state);
  CHECK(unit.view().acknowledged.empty());
}
