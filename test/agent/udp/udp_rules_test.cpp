#include "udp/udp_rules.hpp"

#include "agent/fakes.hpp"
#include "support/fakes/manual_clock.hpp"
#include "wanted_units.hpp"

#include <doctest/doctest.h>

using namespace kindlb;
using namespace kindlb::agent;
using std::chrono::milliseconds;
using testing::udp_rule;
using testing::with_rule;

namespace {

constexpr const char* kDns = "172.18.0.9";

protocol::Unit plain_dns() {
  return testing::unit_at("dns", kDns);
}

protocol::Unit redirected_dns(std::uint16_t redirect = 1053) {
  return with_rule(plain_dns(), udp_rule(kDns, 53, redirect));
}

struct UdpWorld {
  testing::ManualClock clock;
  Loop loop{clock};
  testing::Steps steps;
  testing::FakeFilter filter{steps};
  UdpRules rules{loop, filter, [this] { steps.note("drained"); }};
  CommittedUnit committed;

  std::string installed(const protocol::Unit& unit) {
    committed.unit = unit;
    REQUIRE(rules.install({{&committed}, {}}).ok());
    return filter.text();
  }
  std::string pass(milliseconds time) {
    clock.advance(time);
    loop.run_due();
    return steps.take();
  }
};

}  // namespace

TEST_CASE("when a redirection ends, its listener stays two seconds longer") {
  UdpWorld world;
  world.rules.start_draining(redirected_dns(), plain_dns());
  auto snapshot = world.rules.with_draining({});
  CHECK(snapshot.listeners.contains("redirect/1053"));
  CHECK(snapshot.clusters.contains("redirect/1053"));
  CHECK(world.pass(milliseconds(1'500)).empty());

  // At the commit the time starts over: datagrams came until then.
  world.rules.schedule_drain_end(redirected_dns(), plain_dns());
  CHECK(world.pass(milliseconds(1'999)).empty());
  CHECK(world.pass(milliseconds(1)) == "drained");

  world.rules.postpone_drain_end();
  CHECK(world.pass(milliseconds(99)).empty());
  CHECK(world.pass(milliseconds(1)) == "drained");

  world.rules.end_draining();
  CHECK(world.rules.with_draining({}) == XdsSnapshot());
  CHECK(world.installed(plain_dns()) == "idle 53->1053");
}

TEST_CASE("a change that ends no redirection drains nothing") {
  UdpWorld world;
  world.rules.start_draining(redirected_dns(), redirected_dns());
  world.rules.schedule_drain_end(plain_dns(), redirected_dns());
  CHECK(world.rules.with_draining({}) == XdsSnapshot());
  CHECK(world.pass(UdpRules::kDrainTime).empty());
}

TEST_CASE("where the kernel has no rules, nothing drains") {
  UdpWorld world;
  world.filter.supported = false;
  world.rules.start_draining(redirected_dns(), plain_dns());
  CHECK(world.rules.with_draining({}) == XdsSnapshot());
  CHECK(world.pass(UdpRules::kDrainTime).empty());
}

TEST_CASE("resources of the snapshot go before those of a draining listener") {
  UdpWorld world;
  world.rules.start_draining(redirected_dns(), plain_dns());
  XdsSnapshot snapshot;
  snapshot.clusters["redirect/1053"] = "newer";
  CHECK(world.rules.with_draining(snapshot).clusters.at("redirect/1053") == "newer");
}

TEST_CASE("ports of a rejected unit stay filtered until Envoy has closed them") {
  UdpWorld world;
  const auto refused = with_rule(plain_dns(), udp_rule(kDns, 53, 1053, true));
  world.rules.quarantine(refused, nullptr);
  CHECK(world.installed(plain_dns()) == "53 filtered, idle 53->1053");
  CHECK(world.rules.lift_filters());
  CHECK(world.installed(plain_dns()) == "idle 53->1053");

  SUBCASE("a redirect port stays blocked until Envoy restarts") {
    world.rules.forget();
  }
  SUBCASE("or its address goes") {
    world.rules.forget_addresses(plain_dns());
  }
  SUBCASE("or another listener takes it") {
    auto taker = redirected_dns();
    taker.udp_rules.clear();
    taker.listeners.back().name = "another";
    world.rules.free_ports_for(taker);
  }
  CHECK(world.installed(plain_dns()) == "none");
  CHECK_FALSE(world.rules.lift_filters());
}

TEST_CASE("a filter without redirection is lifted whole") {
  UdpWorld world;
  world.rules.quarantine(with_rule(plain_dns(), udp_rule(kDns, 53, 0, true)), nullptr);
  CHECK(world.installed(plain_dns()) == "53 filtered");
  CHECK(world.rules.lift_filters());
  CHECK(world.installed(plain_dns()) == "none");
}

TEST_CASE("a rejected unit does not block the port of its committed predecessor") {
  UdpWorld world;
  auto predecessor = plain_dns();
  predecessor.listeners = {redirected_dns().listeners.back()};
  predecessor.listeners[0].name = "mine";
  world.rules.quarantine(redirected_dns(), &predecessor);
  CHECK(world.installed(plain_dns()) == "none");
}

TEST_CASE("the last answers of a Service yield their port to a live one") {
  UdpWorld world;
  world.rules.start_draining(redirected_dns(), plain_dns());
  world.rules.free_ports_for(redirected_dns());  // its own listener, by the same name
  CHECK(world.rules.with_draining({}).listeners.size() == 1);
  auto other = redirected_dns();
  other.listeners.back().name = "another";
  world.rules.free_ports_for(other);
  CHECK(world.rules.with_draining({}) == XdsSnapshot());
}

TEST_CASE("after an exit of Envoy nothing drains any more") {
  UdpWorld world;
  world.rules.start_draining(redirected_dns(), plain_dns());
  world.rules.forget();
  CHECK(world.rules.with_draining({}) == XdsSnapshot());
  CHECK(world.pass(UdpRules::kDrainTime).empty());
}

TEST_CASE("an error of the filter is handed on") {
  UdpWorld world;
  world.filter.refusing = true;
  CommittedUnit committed{.unit = redirected_dns()};
  CHECK_FALSE(world.rules.install({{&committed}, {}}).ok());
}
