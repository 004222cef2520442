// Letting go, coming back after a restart, and whose address is whose.
#include "core/plan/plan_support.hpp"

using namespace kindlb::core;
using namespace kindlb::test;

TEST_CASE("a deleted Service: first the proxy, then the finalizer") {
  auto life = settled();
  life.service.deleting = true;
  const auto first = life.plan();
  CHECK(first.remove_proxy);
  CHECK(first.teardown == Teardown::None);
  CHECK_FALSE(first.write.has_value());
  // Retried until the engine confirms.
  CHECK(life.plan().remove_proxy);
  life.proxy_is_lost();
  const auto then = life.plan();
  CHECK_FALSE(then.remove_proxy);
  CHECK(then.teardown == Teardown::DropFinalizer);
}

TEST_CASE("deleted, and our finalizer is gone: another one's may keep the Service") {
  auto life = settled();
  life.service.deleting = true;
  life.service.finalizers = {"example.com/mine"};
  life.proxy_is_lost();
  CHECK(life.plan().empty());
}

TEST_CASE("drained: released whatever it asks for, the proxy first") {
  auto life = settled();
  CHECK(plan_drain(life.view()).remove_proxy);
  CHECK(plan_drain(life.view()).teardown == Teardown::None);
  life.proxy_is_lost();
  CHECK_FALSE(plan_drain(life.view()).remove_proxy);
  CHECK(plan_drain(life.view()).teardown == Teardown::TakeBack);
  CHECK(plan_drain(Life().view()).empty());  // never ours: nothing to take back
}

TEST_CASE("a proxy that is not live may be started, while all nodes run") {
  auto life = settled();
  CHECK_FALSE(life.plan().start_proxy);
  life.proxy.live = false;
  CHECK(life.plan().start_proxy);
  CHECK(plan_drain(life.view()).start_proxy);
  auto snapshot = life.view();
  snapshot.nodes_running = false;
  CHECK_FALSE(plan_service(snapshot, life.policy).start_proxy);
  CHECK_FALSE(plan_drain(snapshot).start_proxy);
  life.proxy_is_lost();
  CHECK_FALSE(life.plan().start_proxy);
}

TEST_CASE("deleted while its proxy is being made: waits for it") {
  Life life;
  life.step();
  life.proxy.coming = true;
  life.service.deleting = true;
  CHECK(life.plan().remove_proxy);
  CHECK(life.plan().teardown == Teardown::None);
}

TEST_CASE("deleted before anything was written: not our business") {
  Life life;
  life.service.deleting = true;
  CHECK(life.plan().empty());
}

TEST_CASE("type changed away: first the proxy, then what we wrote") {
  auto life = settled();
  life.service.spec.type = ServiceType::ClusterIp;
  CHECK(life.plan().remove_proxy);
  CHECK(life.plan().teardown == Teardown::None);
  life.proxy_is_lost();
  CHECK(life.plan().teardown == Teardown::TakeBack);
  CHECK_FALSE(life.plan().write.has_value());
}

TEST_CASE("a Service that is not ours is invisible") {
  for (const auto& service :
       {a_service().with_port(80).of_class("example.com/x").build(),
        a_service().with_port(80).of_type(ServiceType::ClusterIp).build(),
        a_service().with_port(80).of_class("example.com/x").with_finalizer().deleting().build()}) {
    const auto plan = a_world(service).plan();
    CHECK(plan.empty());
    CHECK(plan.events.empty());
    CHECK(plan.addresses.empty());
    CHECK(plan.prepare.empty());
    CHECK_FALSE(plan.again.has_value());
  }
}

TEST_CASE("a proxy left for a Service that is not ours goes") {
  auto world = a_world(a_service().with_port(80).of_class("example.com/x"));
  world.proxy.present = true;
  CHECK(world.plan().remove_proxy);
  CHECK(world.plan().teardown == Teardown::None);
}

TEST_CASE("after a restart what is served needs nothing") {
  auto life = settled();
  life.kindlb_restarts();
  CHECK(life.plan().empty());
  life.may_allocate = false;
  CHECK(life.plan().empty());
}

TEST_CASE("a restart in the middle of things goes on where it was") {
  Life life;
  SUBCASE("after the first write") {
    life.step();
  }
  SUBCASE("after the claim") {
    life.step();
    life.proxy_claimed();
  }
  SUBCASE("after the configuration was confirmed") {
    life.step();
    life.proxy_claimed();
    life.proxy_confirms(life.step());
  }
  const auto held = life.proxy.addresses;
  life.kindlb_restarts();
  for (int i = 0; i < 5; ++i) {
    const auto plan = life.step();
    if (plan.claim) life.proxy_claimed();
    if (plan.apply) life.proxy_confirms(plan);
  }
  CHECK(life.serving() == "True/Serving");
  CHECK(life.address() == (held.empty() ? "172.18.255.254" : held[0].text()));
  CHECK(life.plan().empty());
}

TEST_CASE("nothing is given out before everybody who has an address was seen") {
  Life life;
  life.may_allocate = false;
  const auto plan = life.plan();
  CHECK(plan.empty());
  CHECK(plan.addresses.empty());
  CHECK(plan.prepare.empty());
  CHECK(plan.again.has_value());
}

TEST_CASE("who has an address keeps it also before that") {
  struct Case {
    const char* name;
    void (*give)(Life&);
  };
  const Case cases[] = {
      {"in status", [](Life& life) { life.service.status.ingress = {{.ip = "172.18.200.7"}}; }},
      {"in its proxy", [](Life& life) { life.proxy.addresses = {ip("172.18.200.7")}; }},
      {"reserved", [](Life& life) { life.reserved = {ip("172.18.200.7")}; }},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      Life life;
      life.may_allocate = false;
      c.give(life);
      CHECK(life.plan().addresses == std::vector{ip("172.18.200.7")});
    }
  }
}

TEST_CASE("status goes before the proxy, the proxy before what was reserved") {
  Life life;
  life.reserved = {ip("172.18.200.1")};
  CHECK(life.plan().addresses == std::vector{ip("172.18.200.1")});
  life.proxy.addresses = {ip("172.18.200.2")};
  CHECK(life.plan().addresses == std::vector{ip("172.18.200.2")});
  life.service.status.ingress = {{.ip = "172.18.200.3"}};
  CHECK(life.plan().addresses == std::vector{ip("172.18.200.3")});
}

TEST_CASE("an address is adopted only if it is inside the network and not taken") {
  struct Case {
    const char* name;
    const char* reported;
    const char* want;
  };
  const Case cases[] = {
      {"free", "172.18.200.7", "172.18.200.7"},
      {"the gateway's", "172.18.0.1", "172.18.255.254"},
      {"a node's", "172.18.0.2", "172.18.255.254"},
      {"outside", "192.0.2.7", "172.18.255.254"},
      {"the broadcast address", "172.18.255.255", "172.18.255.254"},
      {"no address at all", "lb.example.com", "172.18.255.254"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const Life life(a_service().with_port(80).reporting(c.reported));
      CHECK(life.plan().addresses == std::vector{ip(c.want)});
    }
  }
}

TEST_CASE("an address once reported stays, whatever becomes free above it") {
  Life life;
  life.network[IpFamily::V4].taken.insert(ip("172.18.255.254"));
  life.step();
  life.proxy_claimed();
  life.proxy_confirms(life.step());
  life.step();
  REQUIRE(life.address() == "172.18.255.253");
  life.network[IpFamily::V4].taken.erase(ip("172.18.255.254"));
  CHECK(life.plan().empty());
  life.proxy_is_lost();
  life.kindlb_restarts();
  CHECK(life.plan().addresses == std::vector{ip("172.18.255.253")});
}

TEST_CASE("an address that another host answers for before it was reported is replaced") {
  Life life;
  life.step();
  life.proxy_claimed();
  life.proxy_rejects(life.step(), "172.18.255.254 is in use by 02:42:ac:12:00:09");
  life.network[IpFamily::V4].taken.insert(ip("172.18.255.254"));
  const auto plan = life.step();
  REQUIRE(plan.apply.has_value());
  CHECK(plan.apply->addresses == std::vector{cidr("172.18.255.253/16")});
}
