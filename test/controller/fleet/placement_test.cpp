#include "fleet/placement.hpp"

#include "controller/fleet/parts_rig.hpp"

#include <set>

using namespace kindlb;
using namespace kindlb::test;
using controller::Placement;
using controller::ProxyRoster;
using Withdrawal = Placement::Withdrawal;

namespace {

constexpr auto kNow = Placement::TimePoint(std::chrono::hours(1));

/// Two warm proxies whose agents are connected, and no limit of Services.
struct Places {
  ProxyRoster roster;
  std::set<std::string> connected{"p1", "p2"};
  Placement placement = with_limit(0);

  Places() {
    for (const auto* id : {"p1", "p2"}) {
      roster.add(container(id));
      roster.set_envoy(id, protocol::EnvoyState::Live);
    }
  }
  Placement with_limit(std::size_t services_per_proxy) {
    return {roster, services_per_proxy,
            [this](const std::string& id) { return connected.contains(id); }};
  }
  std::string choice(const std::string& unit, std::size_t watches = 1,
                     const std::string& cluster = "kind") const {
    return placement.choose(request_for(unit, watches, cluster), kNow).value_or("new");
  }
};

}  // namespace

TEST_CASE_FIXTURE(Places, "a warm proxy must be able to serve at once") {
  CHECK(choice("u1") == "p1");
  SUBCASE("its agent is not connected") {
    connected.erase("p1");
  }
  SUBCASE("its Envoy is not live") {
    roster.set_envoy("p1", protocol::EnvoyState::Starting);
  }
  SUBCASE("it is being removed") {
    roster.set_removing("p1");
  }
  SUBCASE("its container has stopped") {
    roster.container_stopped("p1");
  }
  SUBCASE("its image is outdated") {
    auto outdated = container("p1");
    outdated.current = false;
    roster.add(outdated);
  }
  CHECK(choice("u1") == "p2");
}

TEST_CASE_FIXTURE(Places, "a proxy of the cluster is joined, even while it starts") {
  roster.assign("p2", request_for("u1"));
  connected.erase("p2");
  CHECK(choice("u2") == "p2");
  roster.set_envoy("p2", protocol::EnvoyState::Starting);
  CHECK(choice("u2") == "p2");
  CHECK(choice("u2", 1, "other") == "p1");
  roster.set_envoy("p2", protocol::EnvoyState::Down);
  CHECK(choice("u2") == "p1");
}

TEST_CASE_FIXTURE(Places, "reserved room counts like a unit, for a few seconds") {
  CHECK(placement.reserve("p2", request_for("u1"), kNow));
  CHECK_FALSE(placement.reserve("p2", request_for("u1"), kNow));
  CHECK(choice("u1") == "p2");  // where its address was checked
  CHECK(choice("u2") == "p2");  // joins it
  CHECK(choice("u2", 1, "other") == "p1");
  const auto later = kNow + std::chrono::seconds(10);
  CHECK(placement.choose(request_for("u2"), later) == "p1");
  CHECK(placement.reserve("p2", request_for("u1"), later));
  SUBCASE("until the unit is assigned") {
    placement.cancel_reservation("p2", "u1");
    CHECK(choice("u1") == "p1");
  }
  SUBCASE("until the proxy is gone") {
    roster.drop("p2");
    placement.forget("p2");
    CHECK(choice("u1") == "p1");
  }
}

TEST_CASE_FIXTURE(Places, "a reservation counts only while the Service still fits") {
  roster.set_capacity("p1", 10);
  REQUIRE(placement.reserve("p1", request_for("grown"), kNow));
  roster.assign("p1", request_for("u2", 4));
  CHECK(choice("grown", 4) == "p2");  // 4 + 4, and the larger one once more
}

TEST_CASE_FIXTURE(Places, "a unit outgrows a proxy that it shares, not one of its own") {
  roster.set_capacity("p1", 6);
  roster.assign("p1", request_for("u1", 5));
  CHECK_FALSE(placement.outgrows(*roster.find("p1"), "u1", kNow));
  roster.unit("u1")->set_watches(2);
  roster.assign("p1", request_for("u2", 2));
  CHECK_FALSE(placement.outgrows(*roster.find("p1"), "u1", kNow));
  roster.unit("u1")->set_watches(3);
  CHECK(placement.outgrows(*roster.find("p1"), "u1", kNow));
}

TEST_CASE_FIXTURE(Places, "numbers are the lowest that no proxy of the cluster has") {
  CHECK(placement.next_number("kind") == 1);
  roster.assign("p1", request_for("u1"));
  roster.set_number("p1", 1);
  CHECK(placement.next_number("kind") == 2);
  CHECK(placement.next_number("other") == 1);
  CHECK(with_limit(1).next_number("kind") == 0);  // not shared
}

TEST_CASE_FIXTURE(Places, "Services join a proxy that is being created") {
  connected.clear();
  CHECK(choice("u1") == "new");
  const auto pending = placement.begin(request_for("u1"));
  CHECK(placement.has_pending());
  CHECK(placement.is_waiting("u1"));
  CHECK(choice("u2") == pending);
  CHECK(choice("u2", 1, "other") == "new");
  CHECK(choice("u2", 200) == "new");
  CHECK(placement.join(pending, request_for("u2")));
  CHECK_FALSE(placement.join("p1", request_for("u3")));
  CHECK(placement.is_waiting("u2"));
  const auto waited = placement.finish(pending);
  CHECK(waited.requests.size() == 2);
  CHECK_FALSE(waited.unwanted);
  CHECK_FALSE(placement.has_pending());
  CHECK_FALSE(placement.is_waiting("u1"));
}

TEST_CASE_FIXTURE(Places, "the last request is not withdrawn before its proxy is removed again") {
  connected.clear();
  const auto pending = placement.begin(request_for("u1"));
  REQUIRE(placement.join(pending, request_for("u2")));
  CHECK(placement.withdraw("u3") == Withdrawal::NotWaiting);
  CHECK(placement.withdraw("u1") == Withdrawal::Withdrawn);
  CHECK_FALSE(placement.is_waiting("u1"));
  CHECK(placement.withdraw("u2") == Withdrawal::Last);
  CHECK(placement.is_waiting("u2"));
  CHECK(choice("u3") == "new");  // who joins it would be removed with it
  CHECK(placement.finish(pending).unwanted);
}
