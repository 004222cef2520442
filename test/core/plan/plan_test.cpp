// The life of a Service, step by step, while nothing goes wrong.
#include "core/plan/plan_support.hpp"

using namespace kindlb::core;
using namespace kindlb::test;

TEST_CASE("nothing is claimed before the first write is accepted") {
  Life life;
  const auto plan = life.plan();
  REQUIRE(plan.write.has_value());
  CHECK(plan.write->finalizer);
  CHECK(plan.write->conditions.size() == 2);
  CHECK(plan.write->ingress.empty());
  CHECK_FALSE(plan.claim);
  CHECK_FALSE(plan.apply.has_value());
  CHECK(plan.events.size() == 1);
}

TEST_CASE("what can be prepared while the first write is under way is") {
  const auto plan = Life().plan();
  CHECK(plan.addresses == std::vector{ip("172.18.255.254")});
  CHECK(plan.prepare == std::vector{cidr("172.18.255.254/16")});
}

TEST_CASE("a write that was not accepted is planned again, and still nothing claimed") {
  Life life;
  const auto first = life.plan();
  const auto second = life.plan();
  CHECK(second.write == first.write);
  CHECK_FALSE(second.claim);
}

TEST_CASE("the warm path: write, claim, apply, serve") {
  Life life;
  CHECK(life.step().write.has_value());
  CHECK(life.serving() == "False/Provisioning");
  CHECK(life.provisioning() == "True/Provisioning");

  const auto claim = life.step();
  CHECK(claim.claim);
  CHECK_FALSE(claim.write.has_value());
  life.proxy.coming = true;
  CHECK(life.plan().empty());

  life.proxy_claimed();
  const auto apply = life.step();
  REQUIRE(apply.apply.has_value());
  CHECK_FALSE(apply.claim);
  CHECK_FALSE(apply.write.has_value());
  CHECK(apply.probes.size() == 1);
  CHECK(apply.revision == revision_of(*apply.apply));
  life.proxy.sent = apply.revision;
  CHECK(life.plan().empty());

  life.proxy_confirms(apply);
  const auto done = life.step();
  REQUIRE(done.write.has_value());
  CHECK_FALSE(done.apply.has_value());
  CHECK(life.serving() == "True/Serving");
  CHECK(life.provisioning() == "False/Complete");
  CHECK(life.address() == "172.18.255.254");
  CHECK(life.plan().empty());
}

TEST_CASE("what is reported: one entry, mode Proxy, every port") {
  const auto life = settled(a_service().with_port(80).with_port(9, Protocol::Sctp));
  CHECK(life.service.status.ingress ==
        std::vector<Ingress>{{.ip = "172.18.255.254",
                              .ip_mode = "Proxy",
                              .ports = {{80, Protocol::Tcp, ""},
                                        {9, Protocol::Sctp, "kindlb.dev/PortsNotSupported"}}}});
  CHECK(is_true(life.service.status.conditions, kDegradedCondition));
}

TEST_CASE("what is asked of the proxy") {
  Life life(a_service().with_port(80).with_port(443));
  life.step();
  life.proxy_claimed();
  const auto config = life.step().apply;
  REQUIRE(config.has_value());
  CHECK(config->unit == "uid-web");
  CHECK(config->owner == life.service.key);
  CHECK(config->direct);
  CHECK(config->addresses == std::vector{cidr("172.18.255.254/16")});
  CHECK(config->routes.size() == 2);
  REQUIRE(config->listeners.size() == 2);
  REQUIRE(config->backends.size() == 2);
  CHECK(config->listeners[0].address == ip("172.18.255.254"));
  CHECK(config->listeners[0].port == 80);
  CHECK(config->listeners[1].port == 443);
  CHECK(config->listeners[1].backend == config->backends[1].name);
  CHECK(config->backends[0].targets ==
        std::vector{target("10.244.0.5", 8080), target("10.244.1.5", 8080)});
}

TEST_CASE("what cannot be kept is not half done: affinity that is degraded is not configured") {
  Life degraded(a_service().with_port(80).with_affinity());
  degraded.policy.capabilities.session_affinity = false;
  degraded.step();
  degraded.proxy_claimed();
  CHECK(degraded.step().apply->backends[0].affinity == Affinity::None);

  Life able(a_service().with_port(80).with_affinity());
  able.step();
  able.proxy_claimed();
  CHECK(able.step().apply->backends[0].affinity == Affinity::ClientIp);
}

TEST_CASE("Serving waits for the proxy's word and for a reached endpoint") {
  struct Case {
    const char* name;
    bool acknowledged;
    bool live;
    Reach reach;
    bool want;
  };
  const Case cases[] = {
      {"confirmed and reached", true, true, Reach::Reached, true},
      {"confirmed and refused by the pod itself", true, true, Reach::Refused, true},
      {"not confirmed", false, true, Reach::Reached, false},
      {"confirmed, not tried", true, true, Reach::Unknown, false},
      {"confirmed, out of reach", true, true, Reach::Unreachable, false},
      {"confirmed, Envoy down since", true, false, Reach::Reached, false},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      Life life;
      life.step();
      life.proxy_claimed();
      const auto apply = life.step();
      if (c.acknowledged) life.proxy_confirms(apply);
      life.proxy.reach = c.reach;
      life.proxy.live = c.live;
      life.step();
      CHECK((life.serving() == "True/Serving") == c.want);
      CHECK(life.service.status.ingress.empty() != c.want);
    }
  }
}

TEST_CASE("a pod that refuses connections is noted, not blamed on the load balancer") {
  Life life;
  life.step();
  life.proxy_claimed();
  life.proxy.reach_detail = "10.244.0.5:8080: Connection refused";
  life.proxy_confirms(life.step(), Reach::Refused);
  life.step();
  CHECK(mentions(life.message(), "10.244.0.5:8080: Connection refused"));
  CHECK(life.plan().empty());
}

TEST_CASE("no endpoints behind the Service: the load balancer serves all the same") {
  Life life;
  life.slices[0].endpoints.clear();
  life.step();
  life.proxy_claimed();
  const auto apply = life.step();
  CHECK(apply.probes.empty());
  life.proxy_confirms(apply);
  life.step();
  CHECK(life.serving() == "True/Serving");
  CHECK(life.plan().empty());
}

TEST_CASE("a Service is waited for by its EndpointSlice, for a while") {
  Life life;
  const auto slices = std::exchange(life.slices, {});
  life.step();
  life.proxy_claimed();
  const auto apply = life.step();
  CHECK(apply.again == kSliceGrace - std::chrono::seconds(1));  // since the first write
  life.proxy_confirms(apply);
  life.age = std::chrono::milliseconds(2500);
  const auto waiting = life.step();
  CHECK(waiting.empty());
  CHECK(waiting.again == kSliceGrace - std::chrono::milliseconds(2500));
  CHECK(life.serving() == "False/Provisioning");

  SUBCASE("it comes") {
    life.slices = slices;
    const auto again = life.step();
    CHECK(again.probes.size() == 1);
    life.proxy_confirms(again);
    life.step();
    CHECK(life.serving() == "True/Serving");
  }
  SUBCASE("it does not come") {
    life.age = kSliceGrace;
    const auto done = life.step();
    CHECK_FALSE(done.again.has_value());
    CHECK(life.serving() == "True/Serving");
    CHECK(mentions(life.message(), "the Service had no EndpointSlice"));
  }
}

TEST_CASE("a Service without a selector does not wait for slices") {
  Life life(a_service().with_port(80).without_selector());
  life.slices.clear();
  life.step();
  life.proxy_claimed();
  const auto apply = life.step();
  CHECK_FALSE(apply.again.has_value());
  life.proxy_confirms(apply);
  life.step();
  CHECK(life.serving() == "True/Serving");
}

TEST_CASE("seen for the first time with everything in place: one write says all") {
  auto life = settled();
  life.service = a_service().with_port(80);
  const auto plan = life.step();
  CHECK(plan.write.has_value());
  CHECK(life.serving() == "True/Serving");
  CHECK(life.provisioning() == "False/Complete");
  CHECK(life.address() == "172.18.255.254");
  CHECK(life.plan().empty());
}

TEST_CASE("dual stack: an address and listeners for each family, in the Service's order") {
  Life life(a_service().with_port(80).with_families({IpFamily::V6, IpFamily::V4}));
  life.policy.capabilities.families.insert(IpFamily::V6);
  life.network[IpFamily::V6] = {cidr("fc00:f853::/64"), {}};
  life.step();
  life.proxy_claimed();
  const auto apply = life.step();
  CHECK(apply.apply->addresses.size() == 2);
  CHECK(apply.apply->listeners.size() == 2);
  life.proxy_confirms(apply);
  life.step();
  REQUIRE(life.service.status.ingress.size() == 2);
  CHECK(life.service.status.ingress[0].ip == "fc00:f853::ffff:ffff:ffff:fffe");
  CHECK(life.service.status.ingress[1].ip == "172.18.255.254");
  CHECK(life.plan().empty());
}
