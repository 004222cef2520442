// Misbehaviour on demand (docs/contract.md §7), carried out: conditions say what proxies do.
#include "controller/harness.hpp"
#include "kindlb/core/conditions.hpp"
#include "support/printing.hpp"

#include <algorithm>

using namespace kindlb;
using namespace kindlb::test;
using core::Service;

namespace {

constexpr const char* kDelay = "kindlb.dev/fault-provisioning-delay";
constexpr const char* kInfrastructure = "kindlb.dev/fault-infrastructure";
constexpr const char* kInterrupt = "kindlb.dev/fault-interrupt-on-update";

bool provisions(FakeWorld& world) {
  return core::is_true(world.service().status.conditions, core::kProvisioningCondition);
}

core::Timestamp time_of(FakeWorld& world, const char* condition) {
  const auto status = world.service().status;
  return core::find_condition(status.conditions, condition)->last_transition;
}

std::size_t reported_ports(FakeWorld& world) {
  const auto ingress = world.service().status.ingress;
  return ingress.empty() ? 0 : ingress[0].ports.size();
}

}  // namespace

TEST_CASE("a provisioning delay passes, and then the work is done") {
  FakeWorld world;
  Kindlb kindlb(world);
  world.add_service(a_service().with_port(80).annotated(kDelay, "1m"));
  REQUIRE(kindlb.wait_until([&] { return world.serving() == "False/Provisioning"; }));
  CHECK(world.journal.count("send") == 0);
  const auto begin = time_of(world, core::kProvisioningCondition);
  REQUIRE(kindlb.wait_serving());
  CHECK(time_of(world, core::kServingCondition) >= begin + std::chrono::minutes(1));

  world.add_port();
  REQUIRE(kindlb.wait_until([&] { return provisions(world); }));
  CHECK(world.serves());
  CHECK(reported_ports(world) == 1);
  CHECK(kindlb.wait_until([&] { return reported_ports(world) == 2 && !provisions(world); }));
}

TEST_CASE("an infrastructure fault takes the proxy away, not the address, and passes") {
  FakeWorld world;
  Kindlb kindlb(world);
  world.add_service();
  REQUIRE(kindlb.wait_serving());
  const auto address = world.address();
  world.kube().edit("default/web", [](Service& service) {
    service.annotations[kInfrastructure] = "quota exceeded";
  });
  REQUIRE(kindlb.wait_until([&] { return world.serving() == "False/Infrastructure"; }));
  CHECK(kindlb.wait_until([&] { return kindlb.fleet().held_units().empty(); }));
  CHECK(world.address() == address);
  const auto status = world.service().status;
  CHECK(core::find_condition(status.conditions, core::kServingCondition)->message ==
        "quota exceeded");
  CHECK_FALSE(provisions(world));

  world.kube().edit("default/web",
                    [](Service& service) { service.annotations.erase(kInfrastructure); });
  REQUIRE(kindlb.wait_serving());
  CHECK(world.address() == address);
}

TEST_CASE("an update that interrupts passes through Serving=False and keeps the address") {
  FakeWorld world;
  Kindlb kindlb(world);
  world.add_service(a_service().with_port(80).annotated(kInterrupt, "true"));
  REQUIRE(kindlb.wait_serving());
  REQUIRE(kindlb.wait_quiet());
  world.kube().forget_events();
  const auto address = world.address();
  world.add_port();
  REQUIRE(kindlb.wait_until([&] { return reported_ports(world) == 2 && world.serves(); }));
  kindlb.settle();  // Events follow the write
  CHECK(world.address() == address);
  CHECK(world.kube().events() ==
        std::vector<std::string>{"default/web Provisioning", "default/web Serving"});
}

TEST_CASE("a malformed fault annotation is reported once and otherwise ignored") {
  FakeWorld world;
  Kindlb kindlb(world);
  world.add_service(a_service().with_port(80).annotated(kDelay, "soon"));
  REQUIRE(kindlb.wait_serving());
  REQUIRE(kindlb.wait_quiet());
  const auto events = world.kube().events();
  CHECK(std::count(events.begin(), events.end(), "default/web InvalidAnnotation") == 1);
}
