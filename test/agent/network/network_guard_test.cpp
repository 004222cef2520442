#include "network/network_guard.hpp"

#include "agent/fakes.hpp"
#include "agent/wire_support.hpp"
#include "support/builders.hpp"

#include <doctest/doctest.h>

using namespace kindlb;
using namespace kindlb::agent;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::cidr;
using test::ip;

namespace {

/// One unit with two addresses and a route, which the namespace has.
struct GuardWorld {
  testing::ManualClock clock;
  Loop loop{clock};
  testing::Steps steps;
  testing::FakeNetwork network{steps};
  testing::FakeFilter filter{steps};
  UdpRules rules{loop, filter, [] {}};
  CommittedUnit unit;
  bool wanted = true;
  NetworkSync sync{loop, network, rules, [this] {
                     WantedUnits out;
                     if (wanted) out.committed = {&unit};
                     return out;
                   }};
  AddressChecks checks{loop, network};
  NetworkGuard guard{loop,
                     {.network = network, .filter = filter, .checks = checks, .sync = sync},
                     [this] { steps.note("problem '" + guard.problem() + "'"); }};

  GuardWorld() {
    unit.unit = testing::with_rule(testing::unit_at("dns", "172.18.0.9"),
                                   testing::udp_rule("172.18.0.9", 53, 0, true));
    unit.unit.addresses.push_back(cidr("fc00::9/64"));
    unit.unit.routes = {{cidr("10.244.1.2/32"), ip("172.18.0.2")}};
    // As for a request: the address was found free a moment ago.
    checks.check(unit.unit.addresses, [](const AddressChecks::Problem&) {});
    pass(AddressChecks::kReplyWindow + milliseconds(5));
    sync.sync();
    steps.take();
  }
  std::string pass(milliseconds time) {
    advance_until(
        loop, clock, [] { return false; }, time);
    return steps.take();
  }
  void lose_address() { network.losses.addresses = {cidr("172.18.0.9/16")}; }
  void lose_interface() {
    network.losses.stranded = {cidr("172.18.0.9/16"), cidr("fc00::9/64")};
    network.losses.routes = unit.unit.routes;
    network.refused_solicitations = {ip("172.18.0.9"), ip("fc00::9")};
    network.refused_routes = {cidr("10.244.1.2/32")};
  }
  void bring_interface_back() {
    network.refused_solicitations.clear();
    network.refused_routes.clear();
  }
};

}  // namespace

TEST_CASE("what was deleted is added again and announced, after changes have settled") {
  GuardWorld world;
  world.lose_address();
  world.network.losses.routes = world.unit.unit.routes;
  world.guard.changed();
  world.guard.changed();
  CHECK(world.pass(milliseconds(9)).empty());
  CHECK(world.pass(milliseconds(1)) ==
        "add address 172.18.0.9/16; add route 10.244.1.2/32 via 172.18.0.2; announce");
  CHECK(world.network.looks == 1);
  CHECK(world.guard.problem().empty());
  CHECK_FALSE(world.loop.run_due());
}

TEST_CASE("a change that took nothing away changes nothing") {
  GuardWorld world;
  world.guard.changed();
  CHECK(world.pass(seconds(10)).empty());
  CHECK(world.network.looks == 1);
}

TEST_CASE("somebody who deletes again and again is answered a few times a second") {
  GuardWorld world;
  int restored = 0;
  for (int i = 0; i < 1'000; ++i) {
    world.lose_address();
    world.guard.changed();
    if (!world.pass(milliseconds(1)).empty()) ++restored;
  }
  CHECK(restored >= 3);
  CHECK(restored <= 4);
}

TEST_CASE("rules that somebody else has changed are installed again") {
  GuardWorld world;
  world.filter.deleted = true;
  world.guard.changed();
  CHECK(world.pass(milliseconds(10)) == "rules 53 filtered");
}

TEST_CASE("addresses lost with their interface come back once they have been found free") {
  GuardWorld world;
  world.lose_interface();
  world.guard.changed();
  CHECK(world.pass(milliseconds(10)) == "problem 'check 172.18.0.9: refused'");
  CHECK(world.pass(seconds(20)).empty());

  world.bring_interface_back();
  world.guard.changed();
  CHECK(world.pass(milliseconds(10)) ==
        "add route 10.244.1.2/32 via 172.18.0.2; solicit 172.18.0.9; solicit fc00::9");
  CHECK(world.pass(milliseconds(25)) ==
        "add address 172.18.0.9/16; add address fc00::9/64; announce; problem ''");
  CHECK(world.pass(seconds(20)).empty());
}

TEST_CASE("an address that another host took meanwhile stays away, and is tried again") {
  GuardWorld world;
  world.network.neighbours = {{ip("172.18.0.9"), "02:42:ac:12:00:0f"}};
  world.network.losses.stranded = {cidr("172.18.0.9/16"), cidr("fc00::9/64")};
  world.guard.changed();
  CHECK(world.pass(milliseconds(40)) ==
        "solicit 172.18.0.9; solicit fc00::9; add address fc00::9/64; announce; problem "
        "'172.18.0.9 is in use by another host with MAC address 02:42:ac:12:00:0f'");
  world.sync.sync();  // no request brings it back unchecked
  CHECK(world.steps.take().empty());
  world.network.neighbours.clear();
  CHECK(world.pass(seconds(6)) ==
        "solicit 172.18.0.9; add address 172.18.0.9/16; announce; problem ''");
}

TEST_CASE("a link that is down is a problem until it is up") {
  GuardWorld world;
  world.network.link_problem = "network interface eth0 is down";
  world.guard.changed();
  CHECK(world.pass(milliseconds(10)) == "problem 'network interface eth0 is down'");
  world.network.link_problem.clear();
  world.guard.changed();
  CHECK(world.pass(milliseconds(10)) == "problem ''");
}

TEST_CASE("a route that cannot be added again is a problem") {
  GuardWorld world;
  world.network.losses.routes = world.unit.unit.routes;
  world.network.refused_routes = {cidr("10.244.1.2/32")};
  world.guard.changed();
  CHECK(world.pass(milliseconds(10)) == "problem 'add route 10.244.1.2/32: refused'");
  world.network.refused_routes.clear();
  CHECK(world.pass(seconds(5)) == "add route 10.244.1.2/32 via 172.18.0.2; problem ''");
}

TEST_CASE("a network that cannot be read is a problem, and read again") {
  GuardWorld world;
  world.network.unreadable = true;
  world.guard.changed();
  CHECK(world.pass(milliseconds(10)) == "problem 'list addresses: refused'");
  world.network.unreadable = false;
  CHECK(world.pass(seconds(5)) == "problem ''");
}

TEST_CASE("a problem ends with the unit that had it") {
  GuardWorld world;
  world.lose_interface();
  world.guard.changed();
  world.pass(milliseconds(10));
  world.wanted = false;
  world.sync.sync();
  world.steps.take();
  CHECK(world.pass(seconds(5)) == "problem ''");
}
