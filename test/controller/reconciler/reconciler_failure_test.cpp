#include "controller/harness.hpp"
#include "kindlb/core/conditions.hpp"
#include "kindlb/core/eligibility.hpp"
#include "support/printing.hpp"

#include <atomic>

using namespace kindlb;
using namespace kindlb::test;
using core::ErrorKind;
using core::Service;

namespace {

bool told(FakeWorld& world, const std::string& event) {
  const auto events = world.kube().events();
  return std::find(events.begin(), events.end(), "default/web " + event) != events.end();
}

std::string serving_message(FakeWorld& world) {
  const auto conditions = world.service().status.conditions;
  const auto* found = core::find_condition(conditions, core::kServingCondition);
  return found == nullptr ? "" : found->message;
}

}  // namespace

// ---- the API -----------------------------------------------------------------------------------

TEST_CASE("an API that is away is waited for") {
  FakeWorld world;
  Kindlb kindlb(world);
  REQUIRE(kindlb.wait_quiet());
  SUBCASE("before the first write") {
    world.kube().fail_next("apply", {ErrorKind::Unavailable, "apply", "refused"}, 4);
    world.add_service();
  }
  SUBCASE("while the Service came") {
    world.kube().set_down(true);
    world.add_service();
    world.kube().set_down(false);
  }
  SUBCASE("while it is being served") {
    // The watch may tell of the write before the API goes away.
    std::atomic<bool> away = false;
    world.kube().after_next_apply([&] {
      world.kube().set_down(true);
      away = true;
    });
    world.add_service();
    REQUIRE(kindlb.wait_until([&] { return away && world.journal.count("send") > 0; }));
    world.kube().set_down(false);
  }
  CHECK(kindlb.wait_serving());
}

TEST_CASE("a release that failed is tried again") {
  FakeWorld world;
  Kindlb kindlb(world);
  world.add_service();
  REQUIRE(kindlb.wait_serving());
  world.kube().fail_next("release", {ErrorKind::Conflict, "release", "changed"}, 3);
  world.kube().remove("default/web");
  CHECK(kindlb.wait_gone());
  CHECK(world.journal.count("release") == 4);
}

TEST_CASE("events while writes fail do not add up to more and more retries") {
  FakeWorld world;
  Kindlb kindlb(world);
  REQUIRE(kindlb.wait_quiet());
  world.kube().fail_next("apply", {ErrorKind::Denied, "apply", "forbidden"}, 1'000'000);
  const auto service = world.add_service();
  for (std::size_t i = 1; i <= 40; ++i) {
    REQUIRE(kindlb.wait_until([&] { return world.journal.count("apply") >= i; }));
    world.kube().edit("default/web",
                      [&](Service& one) { one.annotations["touched"] = std::to_string(i); });
  }
  const auto before = world.journal.count("apply");
  // By now one try comes every 7.5 to 15 s.
  kindlb.pass(std::chrono::seconds(16));
  CHECK(world.journal.count("apply") - before <= 2 + 2);
}

TEST_CASE("a Service created again under the same name is another one") {
  FakeWorld world;
  Kindlb kindlb(world);
  const auto replace = [&] {
    world.kube().edit("default/web", [](Service& service) {
      service.deleting = true;
      service.finalizers.clear();
    });
    world.kube().create(a_service().with_port(80));
  };
  std::string former;
  SUBCASE("seen in one go") {
    former = world.add_service().uid;
    REQUIRE(kindlb.wait_serving());
    world.kube().hold_watch_events(true);
    replace();
    world.kube().hold_watch_events(false);
  }
  SUBCASE("before the answer to a write for the former one") {
    world.kube().after_next_apply(replace);
    former = world.add_service().uid;
  }
  // Between the two there is none.
  REQUIRE(kindlb.wait_until([&] {
    const auto now = world.kube().get("default/web");
    return now && now->uid != former;
  }));
  REQUIRE(kindlb.wait_serving());
  REQUIRE(kindlb.wait_quiet());
  CHECK(world.host.holder_of(former).empty());
  CHECK_FALSE(world.host.holder_of(world.service().uid).empty());
  CHECK(world.host.size() == 2);
}

TEST_CASE("the answer to a write does not bring back a Service that is gone") {
  FakeWorld world;
  Kindlb kindlb(world);
  world.kube().after_next_apply([&] {
    world.kube().edit("default/web", [](Service& service) {
      service.deleting = true;
      service.finalizers.clear();
    });
  });
  world.add_service();
  REQUIRE(kindlb.wait_until([&] { return world.gone(); }));
  REQUIRE(kindlb.wait_quiet());
  CHECK(world.journal.count("apply") == 1);
  CHECK(world.host.size() == 1);
}

// ---- the proxy ---------------------------------------------------------------------------------

TEST_CASE("an address that another host answers for is skipped") {
  FakeWorld world;
  world.host.occupy_address(ip("172.18.0.254"));
  world.host.occupy_address(ip("172.18.0.253"));
  Kindlb kindlb(world);
  world.add_service();
  REQUIRE(kindlb.wait_serving());
  CHECK(world.address() == "172.18.0.252");
  CHECK(world.journal.count("send") == 3);  // one try per address
}

TEST_CASE("an address in status is not given up to another host") {
  FakeWorld world;
  Kindlb kindlb(world);
  world.add_service();
  REQUIRE(kindlb.wait_serving());
  world.host.occupy_address(ip("172.18.0.254"));
  world.host.vanish(world.host.holder_of(world.service().uid));
  REQUIRE(kindlb.wait_until(
      [&] { return serving_message(world).find("is in use") != std::string::npos; }));
  CHECK(world.address() == "172.18.0.254");
  CHECK(world.serving() == "False/Infrastructure");
}

TEST_CASE("unreachable pods: node ports, unless configured otherwise") {
  FakeWorld world;
  world.host.block_direct_path(true);
  Kindlb::Options options;
  SUBCASE("automatic") {
    Kindlb kindlb(world, options);
    const auto uid = world.add_service().uid;
    REQUIRE(kindlb.wait_serving());
    const auto units = world.host.units_of(world.host.holder_of(uid));
    CHECK(core::Revision::parse(units.at(0).revision).through_node_ports());
  }
  SUBCASE("direct only: reported, and retried until it works") {
    options.policy.datapath = core::Datapath::Direct;
    Kindlb kindlb(world, options);
    world.add_service();
    REQUIRE(kindlb.wait_until([&] { return world.serving() == "False/Infrastructure"; }));
    CHECK(serving_message(world).find("No route to host") != std::string::npos);
    world.host.block_direct_path(false);
    CHECK(kindlb.wait_serving());
  }
}

TEST_CASE("a configuration that Envoy rejects is reported in its words and retried") {
  FakeWorld world;
  world.host.reject_next(protocol::RejectStage::Envoy, "cannot bind", 2);
  Kindlb kindlb(world);
  world.add_service();
  REQUIRE(kindlb.wait_until([&] { return told(world, "Infrastructure"); }));
  CHECK(kindlb.wait_serving());
}

TEST_CASE("an engine that creates no container is reported in its words and retried") {
  FakeWorld world;
  world.host.fail_next("create", {ErrorKind::Invalid, "create", "no space left"}, 3);
  Kindlb kindlb(world, {.warm_proxies = 0});
  world.add_service();
  REQUIRE(kindlb.wait_until([&] { return told(world, "Infrastructure"); }));
  CHECK(kindlb.wait_serving());
  CHECK(world.journal.count("create") == 4);
}

TEST_CASE("a damaged proxy recovers with the same address, and that is reported") {
  FakeWorld world;
  Kindlb kindlb(world);
  const auto uid = world.add_service().uid;
  REQUIRE(kindlb.wait_serving());
  REQUIRE(kindlb.wait_quiet());
  world.kube().forget_events();
  const auto address = world.address();
  const auto holder = world.host.holder_of(uid);
  SUBCASE("Envoy died") {
    world.host.envoy_goes_down(holder, "killed by signal 9");
    REQUIRE(kindlb.wait_until([&] { return world.serving() == "False/Infrastructure"; }));
    world.host.envoy_comes_up(holder);
  }
  SUBCASE("its container stopped") {
    world.host.die(holder);
  }
  SUBCASE("its container was removed") {
    world.host.vanish(holder);
  }
  REQUIRE(kindlb.wait_until([&] { return told(world, "Infrastructure"); }));
  REQUIRE(kindlb.wait_serving());
  CHECK(world.address() == address);
  CHECK_FALSE(world.host.holder_of(uid).empty());
  REQUIRE(kindlb.wait_quiet());
  CHECK(world.host.size() == 2);
}

TEST_CASE("a lost channel does not affect conditions") {
  FakeWorld world;
  Kindlb kindlb(world);
  const auto uid = world.add_service().uid;
  REQUIRE(kindlb.wait_serving());
  REQUIRE(kindlb.wait_quiet());
  world.journal.clear();
  world.host.fail_next("connect", {ErrorKind::Unavailable, "connect", "x"}, 3);
  world.host.break_channel(world.host.holder_of(uid));
  REQUIRE(kindlb.wait_quiet());
  CHECK(world.writes() == 0);
  CHECK(world.journal.count("create") == 0);
}

TEST_CASE("stopped proxies wait for the cluster's nodes") {
  FakeWorld world;
  Kindlb kindlb(world);
  const auto uid = world.add_service().uid;
  REQUIRE(kindlb.wait_serving());
  kindlb.on_loop([&] { kindlb.reconciler().set_nodes_running("kind", false); });
  const auto holder = world.host.holder_of(uid);
  world.host.die(holder);
  REQUIRE(kindlb.wait_until([&] { return world.serving() == "False/Infrastructure"; }));
  CHECK_FALSE(world.host.is_running(holder));
  CHECK(world.journal.count("start") == 0);
  kindlb.on_loop([&] { kindlb.reconciler().set_nodes_running("kind", true); });
  REQUIRE(kindlb.wait_serving());
  CHECK(world.host.holder_of(uid) == holder);
}

TEST_CASE("the proxy goes before the finalizer, however long that takes") {
  FakeWorld world;
  Kindlb kindlb(world);
  const auto uid = world.add_service().uid;
  REQUIRE(kindlb.wait_serving());
  world.host.fail_next("remove", {ErrorKind::Unavailable, "remove", "x"}, 3);
  world.kube().remove("default/web");
  REQUIRE(kindlb.wait_until([&] { return world.journal.count("remove") >= 2; }));
  CHECK(core::has_finalizer(world.service()));
  REQUIRE(kindlb.wait_gone());
  CHECK(world.host.holder_of(uid).empty());
}
