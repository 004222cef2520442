#include "network/address_checks.hpp"

#include "agent/fakes.hpp"
#include "support/builders.hpp"
#include "support/fakes/manual_clock.hpp"

#include <doctest/doctest.h>

using namespace kindlb;
using namespace kindlb::agent;
using std::chrono::milliseconds;
using test::cidr;
using test::ip;

namespace {

struct CheckWorld {
  testing::ManualClock clock;
  Loop loop{clock};
  testing::Steps steps;
  testing::FakeNetwork network{steps};
  AddressChecks checks{loop, network};

  void check(const std::string& address) {
    checks.check({cidr(address)}, [this](const AddressChecks::Problem& problem) {
      steps.note(problem.value_or("free"));
    });
  }
  /// In steps, as polls come.
  std::string pass(milliseconds time) {
    for (; time.count() > 0; --time) {
      clock.advance(milliseconds(1));
      loop.run_due();
    }
    return steps.take();
  }
};

}  // namespace

TEST_CASE("an address for which no host answers is free, for a few seconds without asking again") {
  CheckWorld world;
  world.check("172.18.0.9/16");
  CHECK(world.steps.take() == "solicit 172.18.0.9");
  CHECK(world.pass(milliseconds(19)).empty());
  CHECK(world.pass(milliseconds(3)) == "free");
  world.check("172.18.0.9/16");
  CHECK(world.steps.take() == "free");
  world.pass(AddressChecks::kFreeFor);
  world.check("172.18.0.9/16");
  CHECK(world.steps.take() == "solicit 172.18.0.9");
}

TEST_CASE("an address for which a host answers is in use") {
  CheckWorld world;
  world.check("172.18.0.9/16");
  world.network.neighbours[ip("172.18.0.9")] = "02:42:ac:12:00:02";
  CHECK(world.pass(milliseconds(3)) ==
        "solicit 172.18.0.9; "
        "172.18.0.9 is in use by another host with MAC address 02:42:ac:12:00:02");
}

TEST_CASE("what needs no question is answered at once") {
  CheckWorld world;
  DesiredNetwork own;
  own.addresses = {cidr("172.18.0.9/16")};
  REQUIRE(world.network.add_addresses(own).ok());
  world.steps.take();
  world.check("172.18.0.9/16");
  CHECK(world.steps.take() == "free");
  world.network.refused_solicitations = {ip("192.0.2.1")};
  world.check("192.0.2.1/24");
  CHECK(world.steps.take() == "check 192.0.2.1: refused");
}

TEST_CASE("a check whose answers were lost has its whole time again") {
  CheckWorld world;
  world.check("172.18.0.9/16");
  world.pass(milliseconds(18));
  world.checks.restart();
  CHECK(world.pass(milliseconds(19)) == "solicit 172.18.0.9");
  CHECK(world.pass(milliseconds(3)) == "free");
}
