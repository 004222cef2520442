#include "fleet/roster.hpp"

#include "controller/fleet/parts_rig.hpp"

using namespace kindlb;
using namespace kindlb::test;
using controller::ProxyRoster;
using Names = std::vector<std::string>;

namespace {

/// Two proxies: p1 with u1 and u2, p2 warm.
struct TwoProxies {
  ProxyRoster roster;
  TwoProxies() {
    roster.add(container("p1"));
    roster.add(container("p2"));
    roster.assign("p1", request_for("u1"));
    roster.assign("p1", request_for("u2"));
  }
  std::string holder(const std::string& unit) const {
    const auto* proxy = roster.holder_of(unit);
    return proxy == nullptr ? "none" : proxy->container.id;
  }
  /// The index and the proxies say the same.
  void check_consistent() const {
    for (const auto& [id, proxy] : roster.proxies())
      for (const auto& unit : roster.units_of(id)) {
        CHECK(holder(unit) == id);
        CHECK(roster.unit(unit) == &proxy.units.at(unit));
      }
  }
};

}  // namespace

TEST_CASE_FIXTURE(TwoProxies, "a unit is found on the proxy that it was assigned to") {
  check_consistent();
  CHECK(holder("u1") == "p1");
  CHECK(holder("u3") == "none");
  CHECK(roster.unit("u3") == nullptr);
  CHECK(roster.find("p1")->cluster == "kind");
  CHECK(roster.find("p2")->warm());
  CHECK(roster.find("p3") == nullptr);
}

TEST_CASE_FIXTURE(TwoProxies, "a unit that was released is on no proxy") {
  roster.release("u1");
  check_consistent();
  CHECK(holder("u1") == "none");
  CHECK(roster.units_of("p1") == Names{"u2"});
  roster.assign("p2", request_for("u1"));
  check_consistent();
  CHECK(holder("u1") == "p2");
}

TEST_CASE_FIXTURE(TwoProxies, "a dropped proxy takes its units along") {
  CHECK(roster.drop("p1") == Names{"u1", "u2"});
  check_consistent();
  CHECK(holder("u1") == "none");
  CHECK(roster.find("p1") == nullptr);
}

TEST_CASE_FIXTURE(TwoProxies, "the first proxy that reports a unit keeps it") {
  const auto outcome = roster.report("p2", {reported("u1"), reported("u3")});
  CHECK(outcome.duplicates == Names{"u1"});
  CHECK(outcome.released.empty());
  check_consistent();
  CHECK(holder("u1") == "p1");
  CHECK(holder("u3") == "p2");
}

TEST_CASE_FIXTURE(TwoProxies, "what an agent does not report stays assigned, unacknowledged") {
  roster.report("p1", {reported("u1"), reported("u2", 4)});
  CHECK(roster.unit("u2")->view().acknowledged.text() == "s.d");
  CHECK(roster.unit("u2")->watches() == 4);
  const auto outcome = roster.report("p1", {reported("u1")});
  CHECK(outcome.released.empty());
  CHECK(holder("u2") == "p1");
  CHECK(roster.unit("u1")->view().acknowledged.text() == "s.d");
  CHECK(roster.unit("u2")->view().acknowledged.empty());
}

TEST_CASE_FIXTURE(TwoProxies, "a release whose answer was lost is seen in the report") {
  roster.unit("u2")->begin_release(5);
  CHECK(roster.report("p1", {reported("u1"), reported("u2")}).released.empty());
  CHECK(roster.report("p1", {reported("u1")}).released == Names{"u2"});
}

TEST_CASE_FIXTURE(TwoProxies, "the planner sees the unit and its proxy") {
  CHECK(roster.view("u3") == core::ProxyView{});
  roster.report("p1", {reported("u1"), reported("u2")});
  roster.set_envoy("p1", protocol::EnvoyState::Live);
  auto view = roster.view("u1");
  CHECK(view.present);
  CHECK(view.live);
  CHECK(view.acknowledged.text() == "s.d");
  CHECK(roster.addresses_on("kind").at(ip("172.18.0.250")) == "u1");
  CHECK(roster.addresses_on("other").empty());
  roster.set_envoy("p1", protocol::EnvoyState::Down);
  roster.set_trouble("p1", "killed");
  view = roster.view("u1");
  CHECK_FALSE(view.live);
  CHECK(view.trouble == "killed");
  SUBCASE("while it is being released, it only comes") {
    roster.unit("u1")->begin_release(5);
    CHECK(roster.view("u1") == core::ProxyView{.coming = true});
    CHECK(roster.view("u2").present);
  }
  SUBCASE("while its proxy is being removed, too") {
    roster.set_removing("p1");
    CHECK(roster.view("u1") == core::ProxyView{.coming = true});
    CHECK(roster.view("u2") == core::ProxyView{.coming = true});
    CHECK(roster.addresses_on("kind").size() == 1);
  }
}

TEST_CASE_FIXTURE(TwoProxies, "a container that stops and starts again") {
  roster.report("p1", {reported("u1"), reported("u2")});
  roster.set_envoy("p1", protocol::EnvoyState::Live);
  roster.unit("u1")->begin_apply(5, core::Revision::parse("t.d"), {}, false);
  roster.container_stopped("p1");
  CHECK_FALSE(roster.find("p1")->reachable());
  CHECK(roster.view("u1").sent.empty());
  CHECK(roster.view("u1").acknowledged.text() == "s.d");
  CHECK(roster.view("u1").trouble == "its container has stopped");
  roster.container_started("p1");
  CHECK(roster.find("p1")->reachable());
  CHECK_FALSE(roster.view("u1").live);
  CHECK(roster.view("u1").acknowledged.empty());
  CHECK(roster.view("u1").trouble == "its container was restarted");
  roster.set_envoy("p1", protocol::EnvoyState::Live);
  CHECK(roster.view("u1").trouble.empty());
}

TEST_CASE_FIXTURE(TwoProxies, "a proxy is described by what it serves") {
  CHECK(roster.find("p1")->description() == "2 Services of kind");
  CHECK(roster.find("p2")->description() == "warm-p2");
  roster.release("u2");
  CHECK(roster.find("p1")->description() == "kind/default/u1");
}

TEST_CASE_FIXTURE(TwoProxies, "a proxy with a fault is not live, and says why") {
  roster.set_envoy("p1", protocol::EnvoyState::Live);
  REQUIRE(roster.view("u1").live);
  CHECK(roster.set_faults("p1", {.paused = true, .network_problem = "no route"}));
  CHECK_FALSE(roster.set_faults("p1", {.paused = true, .network_problem = "no route"}));
  CHECK_FALSE(roster.view("u1").live);
  CHECK(roster.view("u2").trouble == "its container is paused");
  SUBCASE("also while it is removed for that") {
    roster.set_removing("p1");
    CHECK_FALSE(roster.view("u1").present);
    CHECK(roster.view("u1").coming);
    CHECK(roster.view("u1").trouble == "its container is paused");
    roster.set_trouble("p1", "its container cannot be removed: busy");
    CHECK(roster.view("u1").trouble ==
          "its container is paused; its container cannot be removed: busy");
  }
  SUBCASE("until it stops, which says it all") {
    roster.container_stopped("p1");
    CHECK(roster.view("u1").trouble == "its container has stopped");
  }
  SUBCASE("until it is over") {
    roster.set_faults("p1", {});
    CHECK(roster.view("u1").live);
  }
}

TEST_CASE_FIXTURE(TwoProxies, "a proxy that is removed for no fault has nothing to say") {
  roster.set_trouble("p1", "killed by signal 9");
  roster.set_removing("p1");
  CHECK(roster.view("u1").trouble.empty());
}
