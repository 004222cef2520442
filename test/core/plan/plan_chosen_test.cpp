// Addresses a Service chooses (spec.loadBalancerIP, kindlb.dev/load-balancer-ips) and ranges that
// run out.
#include "core/plan/plan_support.hpp"

using namespace kindlb::core;
using namespace kindlb::test;

namespace {

constexpr const char* kAddresses = "kindlb.dev/load-balancer-ips";
constexpr const char* kHighest = "172.18.255.254";
constexpr const char* kWanted = "172.18.7.7";

ServiceBuilder wanting(const std::string& address = kWanted) {
  return a_service().with_port(80).with_ip(address);
}

AddressSpace ipv6(const std::string& pool = "") {
  AddressSpace out{.subnet = cidr("fc00:1::/64"), .taken = {}, .pools = {}};
  if (!pool.empty()) out.pools = {range(pool)};
  return out;
}

std::set<IpAddress>& taken(Life& life) {
  return life.network.at(IpFamily::V4).taken;
}

/// Requests an address that is in use, and is served on another.
Life disappointed() {
  Life life(wanting());
  taken(life).insert(ip(kWanted));
  life.settle();
  CHECK(life.address() == kHighest);
  CHECK(life.degraded() == "True/LoadBalancerIPNotSupported");
  return life;
}

}  // namespace

TEST_CASE("a chosen address that can be had is had") {
  Life life(wanting());
  SUBCASE("by the field") {}
  SUBCASE("by the annotation, which goes first") {
    life = Life(wanting("172.18.7.8").annotated(kAddresses, kWanted));
  }
  SUBCASE("outside of the ranges for others") {
    life.network.at(IpFamily::V4).pools = {range("172.18.5.0/24")};
  }
  SUBCASE("required") {
    life = Life(wanting().requiring("LoadBalancerIP"));
  }
  SUBCASE("strict") {
    life.policy.strict = true;
  }
  const auto plan = life.step();
  CHECK(plan.addresses == std::vector{ip(kWanted)});
  CHECK(plan.prepare == std::vector{cidr("172.18.7.7/16")});
  life.settle();
  CHECK(life.serving() == "True/Serving");
  CHECK(life.address() == kWanted);
  CHECK(life.degraded() == "absent");
  life.kindlb_restarts();
  CHECK(life.plan().empty());
}

TEST_CASE("one chosen address for each family") {
  Life life(a_service()
                .with_port(80)
                .with_families({IpFamily::V6, IpFamily::V4})
                .annotated(kAddresses, "fc00:1::7")
                .with_ip(kWanted));
  life.network[IpFamily::V6] = ipv6();
  life.settle();
  REQUIRE(life.service.status.ingress.size() == 2);
  CHECK(life.service.status.ingress[0].ip == "fc00:1::7");
  CHECK(life.service.status.ingress[1].ip == kWanted);
  CHECK(life.degraded() == "absent");
}

TEST_CASE("a chosen address that cannot be had: another one, degraded; or refused") {
  struct Case {
    const char* name;
    const char* asked;
    const char* words;
  };
  const Case cases[] = {
      {"taken", "172.18.0.2", "already in use"},
      {"outside the network", "192.168.0.9", "outside the docker network 172.18.0.0/16"},
      {"the first of the network", "172.18.0.0", "first or last"},
      {"the last of the network", "172.18.255.255", "first or last"},
      {"wrong family", "fc00:1::7", "IPv6, which this Service is not served on"},
      {"not an address", "web.example.com", "is not an IP address"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      Life life(wanting(c.asked));
      life.network[IpFamily::V6] = ipv6();
      life.settle();
      CHECK(life.serving() == "True/Serving");
      CHECK(life.address() == kHighest);
      CHECK(life.degraded() == "True/LoadBalancerIPNotSupported");
      CHECK(mentions(life.message(kDegradedCondition), c.words));
      CHECK(mentions(life.message(kDegradedCondition), c.asked));

      Life required(wanting(c.asked).requiring("LoadBalancerIP"));
      const auto plan = required.step();
      CHECK(plan.addresses.empty());
      CHECK_FALSE(plan.claim);
      CHECK(required.serving() == "False/Unsupported");
      CHECK(mentions(required.message(), c.asked));

      Life strict(wanting(c.asked));
      strict.policy.strict = true;
      strict.step();
      CHECK(strict.serving() == "False/Unsupported");
    }
  }
}

TEST_CASE("required and taken: looked at again, and served once it is free") {
  Life life(wanting().requiring("LoadBalancerIP"));
  taken(life).insert(ip(kWanted));
  CHECK(life.step().again.has_value());
  CHECK(life.step().again.has_value());
  CHECK(life.plan().empty());
  taken(life).erase(ip(kWanted));
  life.settle();
  CHECK(life.address() == kWanted);
}

TEST_CASE("who was given another address keeps it, whatever becomes free") {
  auto life = disappointed();
  taken(life).erase(ip(kWanted));
  CHECK(life.plan().empty());
  life.kindlb_restarts();
  CHECK(life.plan().empty());
  life.slices[0].endpoints.pop_back();
  life.settle();
  CHECK(life.address() == kHighest);
}

TEST_CASE("who was given another address gets the chosen one by asking again") {
  auto life = disappointed();
  taken(life).erase(ip(kWanted));
  SUBCASE("by the annotation") {
    life.annotate(kAddresses, kWanted);
  }
  SUBCASE("by requiring it") {
    life.service.spec.required_features = {"LoadBalancerIP"};
  }
  life.step();
  CHECK(life.provisioning() == "True/Provisioning");
  CHECK(life.address() == kHighest);
  CHECK(life.degraded() == "True/LoadBalancerIPNotSupported");
  life.settle();
  CHECK(life.address() == kWanted);
  CHECK(life.degraded() == "absent");
}

TEST_CASE("an address chosen later: the former one is served until the new one is") {
  auto life = settled();
  const auto served_since = life.since(kServingCondition);
  life.service.spec.load_balancer_ip = kWanted;
  life.step();
  CHECK(life.serving() == "True/Serving");
  CHECK(life.address() == kHighest);
  const auto sent = life.step();
  REQUIRE(sent.apply.has_value());
  CHECK(sent.apply->addresses == std::vector{cidr("172.18.7.7/16")});
  life.proxy_confirms(sent);
  life.step();
  CHECK(life.address() == kWanted);
  CHECK(life.since(kServingCondition) > served_since);
  CHECK(life.step().empty());
}

TEST_CASE("a withdrawn address request moves no Service") {
  Life life(wanting());
  life.settle();
  life.service.spec.load_balancer_ip.clear();
  life.settle();
  CHECK(life.address() == kWanted);
  life.service.spec.load_balancer_ip = "10.0.0.1";
  life.settle();
  CHECK(life.address() == kWanted);
  CHECK(life.degraded() == "True/LoadBalancerIPNotSupported");
}

TEST_CASE("a chosen address waits until everybody who has one was seen") {
  Life life(wanting());
  life.may_allocate = false;
  CHECK(life.plan().addresses.empty());
  CHECK_FALSE(life.plan().write.has_value());
  life.may_allocate = true;
  life.settle();
  life.may_allocate = false;
  life.kindlb_restarts();
  CHECK(life.plan().empty());
  CHECK(life.plan().addresses == std::vector{ip(kWanted)});
}

TEST_CASE("ranges that ran out: named, tried again, and served once one is free") {
  Life life;
  life.network.at(IpFamily::V4).pools = {range("172.18.5.1-172.18.5.2")};
  taken(life).insert({ip("172.18.5.1"), ip("172.18.5.2")});
  const auto plan = life.step();
  CHECK(plan.again.has_value());
  CHECK(plan.addresses.empty());
  CHECK(life.serving() == "False/Infrastructure");
  CHECK(life.provisioning() == "True/Provisioning");
  CHECK(mentions(life.message(), "172.18.5.1-172.18.5.2 (--ip-range) of 172.18.0.0/16"));
  CHECK(life.plan().empty());
  taken(life).erase(ip("172.18.5.1"));
  life.settle();
  CHECK(life.address() == "172.18.5.1");
}

TEST_CASE("one more family for which nothing is free: the former specification is still served") {
  auto life = settled();
  life.network[IpFamily::V6] = ipv6("fc00:1::1");
  life.network[IpFamily::V6].taken = {ip("fc00:1::1")};
  life.service.spec.ip_families = {IpFamily::V4, IpFamily::V6};
  life.step();
  CHECK(life.serving() == "True/Serving");
  CHECK(life.provisioning() == "True/Provisioning");
  CHECK(mentions(life.message(), "previous"));
  CHECK(mentions(life.message(), "IPv6"));
  CHECK(life.address() == kHighest);
  CHECK(life.plan().empty());
  CHECK(life.plan().again.has_value());
  life.network[IpFamily::V6].taken.clear();
  life.settle();
  CHECK(life.service.status.ingress.size() == 2);
  CHECK(life.provisioning() == "False/Complete");
}
