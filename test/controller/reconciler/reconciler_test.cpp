#include "controller/harness.hpp"
#include "kindlb/core/eligibility.hpp"
#include "support/printing.hpp"

using namespace kindlb;
using namespace kindlb::test;
using core::Service;

namespace {

using Strings = std::vector<std::string>;

std::size_t position(const FakeWorld& world, const std::string& beginning) {
  const auto steps = world.journal.steps();
  const auto found = std::find_if(steps.begin(), steps.end(), [&](const std::string& step) {
    return step.starts_with(beginning);
  });
  return static_cast<std::size_t>(found - steps.begin());
}

}  // namespace

TEST_CASE("the life of a Service: announced, served, changed, deleted") {
  FakeWorld world;
  Kindlb kindlb(world);
  REQUIRE(kindlb.wait_quiet());
  const auto born = world.add_service();
  REQUIRE(kindlb.wait_serving());
  const auto address = world.address();
  CHECK(address == "172.18.0.254");
  CHECK(core::has_finalizer(world.service()));
  CHECK(world.writes() == 2);  // announced, served
  CHECK(position(world, "apply") < position(world, "send"));
  const auto holder = world.host.holder_of(born.uid);
  CHECK(world.host.units_of(holder).at(0).owner == "kind/default/web");

  world.add_port();
  REQUIRE(kindlb.wait_until([&] {
    const auto ingress = world.service().status.ingress;
    return !ingress.empty() && ingress[0].ports.size() == 2 && world.serves();
  }));
  CHECK(world.address() == address);
  CHECK(world.host.holder_of(born.uid) == holder);

  world.kube().remove("default/web");
  REQUIRE(kindlb.wait_gone());
  CHECK(world.host.holder_of(born.uid).empty());
  CHECK(position(world, "remove " + holder) < position(world, "release"));
  CHECK(world.kube().events() == Strings{"default/web Provisioning", "default/web Serving",
                                         "default/web Provisioning", "default/web Updated",
                                         "default/web Deleted"});
}

TEST_CASE("endpoint changes write no status") {
  FakeWorld world;
  Kindlb kindlb(world);
  const auto service = world.add_service();
  REQUIRE(kindlb.wait_serving());
  REQUIRE(kindlb.wait_quiet());
  world.journal.clear();
  world.kube().put_slice(a_slice().of(service).called("web-1").ready("10.244.0.9", "node-a"));
  REQUIRE(kindlb.wait_until([&] { return world.journal.count("send") == 1; }));
  REQUIRE(kindlb.wait_quiet());
  CHECK(world.writes() == 0);
  CHECK(world.serves());
}

TEST_CASE("a Service of another provider is not touched at all") {
  FakeWorld world;
  Kindlb kindlb(world);
  SUBCASE("another class") {
    world.add_service(a_service().with_port(80).of_class("example.com/other"));
  }
  SUBCASE("another type") {
    world.add_service(a_service().with_port(80).of_type(core::ServiceType::ClusterIp));
  }
  REQUIRE(kindlb.wait_quiet());
  CHECK(world.writes() == 0);
  CHECK(world.kube().events().empty());
  CHECK(world.host.size() == 1);  // the warm one
}

TEST_CASE("a Service that becomes refused frees its address") {
  FakeWorld world;
  Kindlb::Options options;
  options.policy.ip_ranges = {*core::AddressRange::parse("172.18.0.77")};
  Kindlb kindlb(world, options);
  world.add_service();
  REQUIRE(kindlb.wait_serving());
  REQUIRE(world.address() == "172.18.0.77");
  world.add_service(a_service().named("default/late").with_port(80));
  REQUIRE(
      kindlb.wait_until([&] { return world.serving("default/late") == "False/Infrastructure"; }));
  world.kube().edit("default/web", [](Service& service) {
    service.annotations["kindlb.dev/required-load-balancer-features"] = "Teleport";
  });
  CHECK(kindlb.wait_serving("default/late"));
  CHECK(world.address("default/late") == "172.18.0.77");
  CHECK(world.serving() == "False/Unsupported");
}

TEST_CASE("a refused Service gets a condition and no proxy") {
  FakeWorld world;
  Kindlb kindlb(world);
  world.add_service(a_service().with_port(80, core::Protocol::Sctp));
  REQUIRE(kindlb.wait_until([&] { return world.serving() == "False/Unsupported"; }));
  REQUIRE(kindlb.wait_quiet());
  CHECK(world.writes() == 1);
  CHECK(world.address().empty());
  CHECK(world.host.size() == 1);
}

TEST_CASE("a Service whose type changes is cleaned up, and may become ours again") {
  FakeWorld world;
  Kindlb kindlb(world);
  world.add_service();
  REQUIRE(kindlb.wait_serving());
  const auto change = [&](core::ServiceType type) {
    world.kube().edit("default/web", [=](Service& service) { service.spec.type = type; });
  };
  change(core::ServiceType::ClusterIp);
  REQUIRE(kindlb.wait_until([&] { return !core::was_ours(world.service()); }));
  CHECK(world.service().finalizers.empty());
  CHECK(world.service().status.conditions.empty());
  CHECK(world.service().status.ingress.empty());
  CHECK(kindlb.on_loop([&] { return kindlb.fleet().held_units().empty(); }));
  change(core::ServiceType::LoadBalancer);
  CHECK(kindlb.wait_serving());
}

TEST_CASE("a type that changes while the first write is under way leaves nothing behind") {
  FakeWorld world;
  Kindlb kindlb(world);
  world.kube().before_next_apply([&] {
    world.kube().edit("default/web",
                      [](Service& service) { service.spec.type = core::ServiceType::ClusterIp; });
  });
  world.add_service();
  REQUIRE(kindlb.wait_until([&] { return world.journal.count("release") > 0; }));
  REQUIRE(kindlb.wait_quiet());
  CHECK_FALSE(core::was_ours(world.service()));
  CHECK(world.service().finalizers.empty());
  CHECK(world.journal.count("release") == 1);
}

TEST_CASE("a release waits for the write under way, which would undo it") {
  FakeWorld world;
  Kindlb kindlb(world);
  world.add_service();
  REQUIRE(kindlb.wait_serving());
  REQUIRE(kindlb.wait_quiet());
  std::promise<void> over;
  world.kube().before_next_apply([&] {
    world.kube().edit("default/web",
                      [](Service& service) { service.spec.type = core::ServiceType::ClusterIp; });
    CHECK(kindlb.wait_until([&] { return world.journal.count("remove") > 0; }));
    CHECK(kindlb.wait_quiet());
    over.set_value();
  });
  world.kube().edit("default/web", [](Service& service) { service.spec.ports[0].port = 81; });
  over.get_future().wait();
  REQUIRE(kindlb.wait_until([&] { return world.journal.count("release") > 0; }));
  REQUIRE(kindlb.wait_quiet());
  CHECK_FALSE(core::was_ours(world.service()));
  CHECK(world.service().finalizers.empty());
  CHECK(world.journal.count("release") == 1);
}

TEST_CASE("another controller's finalizer keeps a Service that we have released") {
  FakeWorld world;
  Kindlb kindlb(world);
  world.add_service(a_service().with_port(80).with_finalizer("example.com/mine"));
  REQUIRE(kindlb.wait_serving());
  world.kube().remove("default/web");
  REQUIRE(kindlb.wait_until([&] { return !core::has_finalizer(world.service()); }));
  world.kube().edit("default/web", [](Service& service) { service.annotations["x"] = "y"; });
  REQUIRE(kindlb.wait_quiet());
  CHECK(world.journal.count("release") == 1);
  CHECK(world.kube().events().back() == "default/web Deleted");
  CHECK(world.kube().events().size() == 3);
  world.kube().edit("default/web", [](Service& service) { service.finalizers.clear(); });
  CHECK(kindlb.wait_gone());
}

TEST_CASE("many Services at once: each its own address and proxy") {
  FakeWorld world;
  Kindlb kindlb(world);
  std::set<std::string> addresses;
  for (int i = 0; i < 12; ++i)
    world.add_service(a_service().named("default/s" + std::to_string(i)).with_port(80));
  for (int i = 0; i < 12; ++i) {
    const auto name = "default/s" + std::to_string(i);
    REQUIRE(kindlb.wait_serving(name));
    addresses.insert(world.address(name));
  }
  CHECK(addresses.size() == 12);
  REQUIRE(kindlb.wait_quiet());
  CHECK(world.host.size() == 13);
}

TEST_CASE("two clusters share a network, not addresses") {
  FakeWorld world;
  auto& second = world.add_cluster("second");
  Kindlb kindlb(world);
  world.add_service();
  second.create(a_service().with_port(80).without_selector());
  REQUIRE(kindlb.wait_serving());
  REQUIRE(kindlb.wait_until([&] { return !second.get("default/web")->status.ingress.empty(); }));
  CHECK(second.get("default/web")->status.ingress[0].ip != world.address());
  SUBCASE("one goes, the other stays") {
    kindlb.on_loop([&] { kindlb.reconciler().remove_cluster("second"); });
    REQUIRE(kindlb.wait_until([&] { return kindlb.fleet().held_units().size() == 1; }));
    CHECK(kindlb.on_loop([&] { return kindlb.fleet().held_units(); })[0].owner ==
          "kind/default/web");
  }
}

TEST_CASE("draining releases every Service and removes its proxy") {
  FakeWorld world;
  Kindlb kindlb(world, {.warm_proxies = 0});
  world.add_service();
  world.add_service(a_service().named("default/other").with_port(80));
  REQUIRE(kindlb.wait_serving());
  REQUIRE(kindlb.wait_serving("default/other"));
  kindlb.on_loop([&] {
    kindlb.reconciler().drain();
    CHECK_FALSE(kindlb.reconciler().drained());
  });
  REQUIRE(kindlb.wait_until([&] { return kindlb.reconciler().drained(); }));
  CHECK(world.host.size() == 0);
  for (const auto* name : {"default/web", "default/other"}) {
    CHECK_FALSE(core::was_ours(world.service(name)));
    CHECK(world.service(name).finalizers.empty());
    CHECK(world.service(name).status.ingress.empty());
  }
  world.add_service(a_service().named("default/late").with_port(80));
  REQUIRE(kindlb.wait_quiet());
  CHECK(world.serving("default/late") == "absent");
}
