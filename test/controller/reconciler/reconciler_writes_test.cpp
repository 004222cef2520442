// How often a status is written: what API servers do not keep, conditions that are switched off,
// others that interfere, clocks that are set.
#include "controller/harness.hpp"
#include "kindlb/core/conditions.hpp"
#include "kindlb/core/eligibility.hpp"
#include "support/printing.hpp"

using namespace kindlb;
using namespace kindlb::test;
using namespace std::chrono_literals;
using core::Service;

namespace {

void drop_from(testing::FakeKube& kube, const Drops& drops) {
  kube.mangle_writes([drops](core::StatusApply& write) { write = without(write, drops); });
}

Drops drops_of(unsigned bits) {
  return {.ports = (bits & 1U) != 0,
          .ip_mode = (bits & 2U) != 0,
          .conditions = (bits & 4U) != 0,
          .degraded = (bits & 8U) != 0};
}

bool has_address(FakeWorld& world) {
  return !world.address().empty();
}

bool is_complete(FakeWorld& world) {
  const auto status = world.service().status;
  return world.serves() && status.ingress[0].ip_mode == "Proxy" && !status.ingress[0].ports.empty();
}

core::Timestamp time_of_serving(FakeWorld& world) {
  const auto status = world.service().status;
  return core::find_condition(status.conditions, core::kServingCondition)->last_transition;
}

std::size_t messages_to_proxies(const FakeWorld& world) {
  return world.journal.count("send") + world.journal.count("create") +
         world.journal.count("remove") + world.journal.count("prepare");
}

Kindlb::Options with_conditions(bool on) {
  Kindlb::Options out;
  out.policy.conditions = on;
  return out;
}

}  // namespace

TEST_CASE("whatever a server drops, a Service is written twice, and then no more") {
  for (unsigned bits = 0; bits < 16; ++bits) {
    CAPTURE(bits);
    FakeWorld world;
    drop_from(world.kube(), drops_of(bits));
    Kindlb kindlb(world);
    world.add_service();
    REQUIRE(kindlb.wait_until([&] { return has_address(world); }));
    REQUIRE(kindlb.wait_quiet());
    CHECK(world.writes() == 2);
    kindlb.pass(10min);
    CHECK(world.writes() == 2);
    world.kube().remove("default/web");
    CHECK(kindlb.wait_gone());
  }
}

TEST_CASE("a server that keeps more after a restart gets it, without a change of the Service") {
  for (unsigned bits = 1; bits < 16; ++bits) {
    CAPTURE(bits);
    FakeWorld world;
    drop_from(world.kube(), drops_of(bits));
    Kindlb kindlb(world);
    world.add_service();
    REQUIRE(kindlb.wait_until([&] { return has_address(world); }));
    REQUIRE(kindlb.wait_quiet());
    const auto address = world.address();
    world.journal.clear();
    world.kube().set_down(true);
    world.kube().mangle_writes(nullptr);
    world.kube().set_down(false);
    REQUIRE(kindlb.wait_until([&] { return is_complete(world); }));
    REQUIRE(kindlb.wait_quiet());
    CHECK(world.writes() <= 1);
    CHECK(world.address() == address);
    CHECK(messages_to_proxies(world) == 0);
  }
}

TEST_CASE("a server that restarts and keeps as little as before is asked once more, not longer") {
  FakeWorld world;
  drop_from(world.kube(), {.ports = true, .conditions = true});
  Kindlb kindlb(world);
  world.add_service();
  REQUIRE(kindlb.wait_until([&] { return has_address(world); }));
  REQUIRE(kindlb.wait_quiet());
  world.journal.clear();
  world.kube().set_down(true);
  world.kube().set_down(false);
  kindlb.pass(10min);
  CHECK(world.writes() == 1);
}

TEST_CASE(
    "a server that does not keep the mark is asked a few times a minute, and nothing begins") {
  FakeWorld world;
  world.kube().mangle_writes([](core::StatusApply& write) { write.observed = "gone"; });
  Kindlb kindlb(world);
  world.add_service();
  kindlb.pass(1min);
  CHECK(world.writes() <= 8);
  const auto first = world.writes();
  kindlb.pass(10min);
  CHECK(world.writes() <= first + 25);
  CHECK(world.address().empty());
  CHECK(world.journal.count("send") == 0);
  world.kube().mangle_writes(nullptr);
  CHECK(kindlb.wait_serving());
}

TEST_CASE("who takes the status away again and again does not make kindlb write in a loop") {
  FakeWorld world;
  Kindlb kindlb(world);
  world.add_service();
  REQUIRE(kindlb.wait_serving());
  REQUIRE(kindlb.wait_quiet());
  world.journal.clear();
  const auto before = time_of_serving(world);
  for (int second = 0; second < 60; ++second) {
    world.kube().edit("default/web", [](Service& service) { service.status = {}; });
    kindlb.pass(1s);
  }
  CHECK(world.writes() >= 2);
  CHECK(world.writes() <= 8);
  REQUIRE(kindlb.wait_serving());
  CHECK(time_of_serving(world) == before);
  CHECK(world.journal.count("send") == 0);
}

TEST_CASE("conditions are switched off, on, off and on: nothing else changes") {
  FakeWorld world;
  std::string address;
  std::string holder;
  {
    Kindlb kindlb(world, with_conditions(false));
    const auto uid = world.add_service().uid;
    REQUIRE(kindlb.wait_until([&] { return has_address(world); }));
    REQUIRE(kindlb.wait_quiet());
    CHECK(world.service().status.conditions.empty());
    CHECK(core::has_finalizer(world.service()));
    CHECK(world.service().status.ingress[0].ip_mode == "Proxy");
    CHECK(world.kube().events() ==
          std::vector<std::string>{"default/web Provisioning", "default/web Serving"});
    address = world.address();
    holder = world.host.holder_of(uid);
  }
  world.kube().forget_events();
  for (const bool on : {false, true, false, true}) {
    CAPTURE(on);
    world.journal.clear();
    const auto conditions = world.service().status.conditions.size();
    Kindlb kindlb(world, with_conditions(on));
    REQUIRE(kindlb.wait_quiet());
    CHECK(world.writes() == (conditions == (on ? 2U : 0U) ? 0 : 1));
    CHECK(world.serving() == (on ? "True/Serving" : "absent"));
    CHECK(world.service().status.conditions.size() == (on ? 2U : 0U));
    CHECK(world.address() == address);
    CHECK(world.host.holder_of(world.service().uid) == holder);
    CHECK(messages_to_proxies(world) == 0);
    CHECK(world.kube().events().empty());
  }
}

TEST_CASE("without conditions, Events still tell what happens") {
  FakeWorld world;
  Kindlb kindlb(world, with_conditions(false));
  const auto uid = world.add_service().uid;
  REQUIRE(kindlb.wait_until([&] { return has_address(world); }));
  REQUIRE(kindlb.wait_quiet());
  world.kube().forget_events();
  world.journal.clear();
  world.host.vanish(world.host.holder_of(uid));
  REQUIRE(kindlb.wait_until([&] { return world.kube().events().size() == 2; }));
  REQUIRE(kindlb.wait_quiet());
  CHECK(world.kube().events() ==
        std::vector<std::string>{"default/web Infrastructure", "default/web Serving"});
  CHECK(world.writes() == 0);
  world.kube().remove("default/web");
  CHECK(kindlb.wait_gone());
}

TEST_CASE("a Service of another class with a copied mark is left alone") {
  FakeWorld world;
  Kindlb kindlb(world);
  world.add_service();
  REQUIRE(kindlb.wait_serving());
  REQUIRE(kindlb.wait_quiet());
  Service copy = a_service().named("default/copy").with_port(80).of_class("example.com/lb");
  copy.annotations = world.service().annotations;
  copy.finalizers = world.service().finalizers;
  copy = world.kube().create(copy);
  SUBCASE("as it is") {}
  SUBCASE("while its provider deletes it") {
    world.kube().remove("default/copy");
  }
  world.journal.clear();
  const auto before = world.service("default/copy");
  kindlb.pass(2min);
  CHECK(world.writes() == 0);
  CHECK(world.service("default/copy") == before);
}

TEST_CASE("a clock that is set back an hour: no writes, no time goes back, no delay is longer") {
  FakeWorld world;
  Kindlb kindlb(world);
  world.add_service();
  REQUIRE(kindlb.wait_serving());
  REQUIRE(kindlb.wait_quiet());
  const auto served = time_of_serving(world);
  world.journal.clear();
  world.clock.shift_wall(-1h);
  kindlb.pass(10min);
  CHECK(world.writes() == 0);

  const auto begin = world.clock.now();
  world.kube().edit("default/web", [](Service& service) {
    service.annotations["kindlb.dev/fault-provisioning-delay"] = "20s";
    service.spec.ports[0].port = 81;
  });
  REQUIRE(kindlb.wait_until([&] {
    const auto ingress = world.service().status.ingress;
    return !ingress.empty() && ingress[0].ports[0].port == 81;
  }));
  CHECK(world.clock.now() >= begin + 20s);
  CHECK(world.clock.now() <= begin + 30s);
  CHECK(time_of_serving(world) == served + 1s);
}
