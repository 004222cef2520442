// What Services say while their proxy runs and nobody gets through, and how they come back.
#include "controller/harness.hpp"
#include "kindlb/core/conditions.hpp"
#include "support/printing.hpp"

#include <string_view>

using namespace kindlb;
using namespace kindlb::test;
using std::chrono::seconds;

namespace {

const std::vector<std::string> kNames = {"web-1", "web-2", "web-3"};

/// Three Services, served.
struct ThreeServices {
  explicit ThreeServices(std::size_t per_proxy, std::size_t warm = 1)
      : kindlb(world, {.warm_proxies = warm, .services_per_proxy = per_proxy, .heartbeats = true}) {
    for (const auto& name : kNames)
      world.add_service(a_service().named("default/" + name).with_port(80));
    for (const auto& name : kNames) REQUIRE(kindlb.wait_serving("default/" + name));
    REQUIRE(kindlb.wait_quiet());
  }
  std::string holder(const std::string& name = "default/web-1") {
    return world.host.holder_of(world.service(name).uid);
  }
  std::string message(const char* type, const std::string& name = "default/web-1") {
    const auto conditions = world.service(name).status.conditions;
    return core::find_condition(conditions, type)->message;
  }
  bool provisioning(const std::string& name = "default/web-1") {
    return core::is_true(world.service(name).status.conditions, core::kProvisioningCondition);
  }
  std::size_t affected(std::size_t per_proxy) const { return per_proxy == 1 ? 1 : kNames.size(); }

  FakeWorld world;
  Kindlb kindlb;
};

struct ProxyFault {
  std::string name;
  void (*begin)(testing::FakeProxyHost& host, const std::string& id);
  std::string text;
};

const std::vector<ProxyFault> kProxyFaults = {
    {"paused", [](auto& host, auto& id) { host.pause(id); }, "its container is paused"},
    {"disconnected", [](auto& host, auto& id) { host.disconnect_network(id); },
     "its container is disconnected from its network"},
    {"suspended", [](auto& host, auto& id) { host.freeze(id, true); },
     "its agent was stopped by a signal"},
    {"no address",
     [](auto& host, auto& id) { host.report_network_problem(id, "the interface is gone"); },
     "the interface is gone"}};

}  // namespace

TEST_CASE("a fault is in the conditions within 5 s and healed within 10 s, at the same address") {
  for (const std::size_t per_proxy : {1U, 0U})
    for (const auto& fault : kProxyFaults) {
      CAPTURE(per_proxy);
      CAPTURE(fault.name);
      ThreeServices served(per_proxy);
      auto& world = served.world;
      const auto address = world.address("default/web-1");
      const auto broken = served.holder();
      const auto proxies = world.host.size();
      const auto writes = world.writes();
      const auto begin = world.clock.now();
      // The conditions say it before the container goes.
      world.host.on_removing([&] {
        served.kindlb.settle();
        CHECK(world.clock.now() - begin <= seconds(5));
        CHECK(world.serving("default/web-1") == "False/Infrastructure");
        CHECK(served.message(core::kServingCondition) == "The proxy is recovering: " + fault.text);
        CHECK(served.provisioning());
        CHECK(world.address("default/web-1") == address);
        CHECK(world.serves("default/web-2") == (per_proxy == 1));
      });
      fault.begin(world.host, broken);
      REQUIRE(served.kindlb.wait_until([&] { return served.holder() != broken; }));
      REQUIRE(served.kindlb.wait_serving("default/web-1"));
      CHECK(world.clock.now() - begin <= seconds(10));
      for (const auto& name : kNames) REQUIRE(served.kindlb.wait_serving("default/" + name));
      REQUIRE(served.kindlb.wait_quiet());
      CHECK(world.address("default/web-1") == address);
      CHECK(world.writes() - writes == 2 * served.affected(per_proxy));  // False, then True
      CHECK(world.host.size() == proxies);
      CHECK(served.holder() != broken);
    }
}

TEST_CASE("the address appears on the new proxy only after the old one is gone") {
  for (const std::size_t per_proxy : {1U, 0U}) {
    CAPTURE(per_proxy);
    ThreeServices served(per_proxy);
    auto& world = served.world;
    const auto broken = served.holder();
    world.host.fail_next("remove", {core::ErrorKind::Unavailable, "remove", "busy"}, 3);
    const auto sent = world.journal.count("send");
    world.host.pause(broken);
    REQUIRE(served.kindlb.wait_until([&] { return world.journal.count("remove") == 3; }));
    CHECK(world.journal.count("send") == sent);
    REQUIRE(served.kindlb.wait_until([&] {
      return served.message(core::kServingCondition).ends_with("cannot be removed: busy");
    }));
    REQUIRE(served.kindlb.wait_serving("default/web-1"));
    CHECK(world.host.holder_of(world.service("default/web-1").uid) != broken);
  }
}

TEST_CASE("a short pause is told and undone, and nothing moves") {
  ThreeServices served(0);
  auto& world = served.world;
  const auto holder = served.holder();
  const auto writes = world.writes();
  world.host.pause(holder);
  REQUIRE(served.kindlb.wait_until([&] { return !world.serves("default/web-1"); }));
  world.host.unpause(holder);
  for (const auto& name : kNames) REQUIRE(served.kindlb.wait_serving("default/" + name));
  REQUIRE(served.kindlb.wait_quiet());
  CHECK(served.holder() == holder);
  CHECK(world.journal.count("remove") == 0);
  CHECK(world.writes() - writes <= 2 * kNames.size());
}

TEST_CASE("an engine that cannot make another proxy is quoted") {
  ThreeServices served(1, 0);
  auto& world = served.world;
  world.host.fail_next("create", {core::ErrorKind::Invalid, "create", "no space left"}, 3);
  world.host.pause(served.holder());
  REQUIRE(served.kindlb.wait_until([&] {
    return served.message(core::kServingCondition).find("no space left") != std::string::npos;
  }));
  CHECK(served.message(core::kProvisioningCondition).starts_with("Retrying: "));
  CHECK(served.kindlb.wait_serving("default/web-1"));
}

TEST_CASE("proxies that break again and again are not a storm of containers and writes") {
  ThreeServices served(1);
  auto& world = served.world;
  const auto uid = world.service("default/web-1").uid;
  const auto creations = world.journal.count("create");
  const auto writes = world.writes();
  for (int minute = 0; minute < 10; ++minute)
    for (int i = 0; i < 60; ++i) {
      const auto holder = world.host.holder_of(uid);
      if (!holder.empty() && world.serves("default/web-1")) world.host.pause(holder);
      served.kindlb.pass(seconds(1));
    }
  CHECK(world.journal.count("create") - creations <= 14);
  CHECK(world.writes() - writes <= 28);
  CHECK(world.serves("default/web-2"));
}

TEST_CASE("whatever else happens to a proxy's container is healed within 10 s") {
  for (const std::size_t per_proxy : {1U, 0U})
    for (const std::string_view what : {"killed", "removed", "restarted", "paused and killed"}) {
      CAPTURE(what);
      CAPTURE(per_proxy);
      ThreeServices served(per_proxy);
      auto& world = served.world;
      const auto id = served.holder();
      const auto begin = world.clock.now();
      const auto address = world.address("default/web-1");
      if (what == "paused and killed") world.host.pause(id);
      if (what == "removed")
        world.host.vanish(id);
      else
        world.host.die(id);
      if (what == "restarted") REQUIRE(world.host.start(id).ok());
      served.kindlb.settle();
      REQUIRE(served.kindlb.wait_serving("default/web-1"));
      for (const auto& name : kNames) REQUIRE(served.kindlb.wait_serving("default/" + name));
      CHECK(world.clock.now() - begin <= seconds(10));
      CHECK(world.address("default/web-1") == address);
    }
}

TEST_CASE("heartbeats alone write nothing") {
  ThreeServices served(0);
  const auto writes = served.world.writes();
  served.kindlb.pass(std::chrono::minutes(10));
  CHECK(served.world.writes() == writes);
}
