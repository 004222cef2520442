// kindlb.dev/fault-provisioning-delay (docs/contract.md §7), alone and with others.
#include "core/plan/plan_support.hpp"

#include <chrono>

using namespace kindlb::core;
using namespace kindlb::test;
using namespace std::chrono_literals;

namespace {

constexpr const char* kDelay = "kindlb.dev/fault-provisioning-delay";

/// Served, then delayed for one more port; the write for it was accepted at `now`-1.
Life delayed_update(bool interrupting = false) {
  auto life = settled();
  life.annotate(kDelay, "20s");
  if (interrupting) life.annotate(kInterrupt, "true");
  life.add_port(443);
  CHECK(life.step().write.has_value());
  return life;
}

}  // namespace

TEST_CASE("a new Service stays Provisioning as long as its delay says") {
  Life life(a_service().with_port(80).annotated(kDelay, "20s"));
  const auto seen = life.now;
  CHECK(life.step().write.has_value());
  CHECK(life.serving() == "False/Provisioning");
  CHECK(life.provisioning() == "True/Provisioning");
  CHECK(mentions(life.message(), kDelay));
  const auto waiting = life.plan();
  CHECK(waiting.empty());
  CHECK(waiting.again == 19s);
  life.now = seen + 19s;
  CHECK(life.plan().empty());
  CHECK(life.plan().again == 1s);
  life.now = seen + 20s;
  CHECK(life.plan().claim);
  life.settle();
  CHECK(life.serving() == "True/Serving");
  CHECK(life.since(kServingCondition) >= seen + 20s);
  CHECK_FALSE(mentions(life.message(), kDelay));
}

TEST_CASE("a delay counts from the condition's time, also across a restart") {
  Life life(a_service().with_port(80).annotated(kDelay, "20s"));
  const auto seen = life.now;
  life.step();
  life.now = seen + 12s;
  life.kindlb_restarts();
  CHECK(life.plan().empty());
  CHECK(life.plan().again == 8s);
  life.now = seen + 20s;
  life.kindlb_restarts();
  CHECK(life.plan().claim);
}

TEST_CASE("a clock that is set back does not make an injected delay longer") {
  Life life(a_service().with_port(80).annotated(kDelay, "20s"));
  life.step();
  life.now -= 1h;
  life.age = 5s;
  CHECK(life.plan().again <= 20s);
  CHECK_FALSE(life.plan().claim);
  life.age = 21s;
  CHECK(life.plan().claim);
}

TEST_CASE("what is served stays served while an update is delayed") {
  auto life = delayed_update();
  const auto begun = life.since(kProvisioningCondition);
  const auto served_since = life.since(kServingCondition);
  CHECK(life.serving() == "True/Serving");
  CHECK(life.provisioning() == "True/Provisioning");
  CHECK(mentions(life.message(kProvisioningCondition), kDelay));
  for (life.now = begun; life.now < begun + 20s; life.now += 5s) CHECK(life.plan().empty());
  CHECK(life.service.status.ingress[0].ports.size() == 1);
  life.settle();
  CHECK(life.serving() == "True/Serving");
  CHECK(life.provisioning() == "False/Complete");
  CHECK(life.service.status.ingress[0].ports.size() == 2);
  CHECK(life.since(kServingCondition) > served_since);
  CHECK(life.address() == "172.18.255.254");
}

TEST_CASE("a delayed update survives a restart: still served, and not begun anew") {
  auto life = delayed_update();
  const auto before = life.service;
  life.kindlb_restarts();
  life.now = life.since(kProvisioningCondition) + 15s;
  CHECK(life.plan().empty());
  CHECK(life.plan().again == 5s);
  CHECK(life.service == before);
}

TEST_CASE("delayed and interrupted: the listeners are really closed, the address is kept") {
  auto life = delayed_update(true);
  const auto begun = life.since(kProvisioningCondition);
  const auto said = life.message();
  CHECK(life.serving() == "False/Provisioning");
  CHECK(life.address() == "172.18.255.254");
  const auto held = life.step();
  CHECK_FALSE(held.write.has_value());
  REQUIRE(held.apply.has_value());
  CHECK(held.apply->listeners.empty());
  CHECK(held.apply->backends.empty());
  CHECK(held.apply->routes.empty());
  CHECK(held.apply->addresses == std::vector{cidr("172.18.255.254/16")});
  CHECK(held.probes.empty());
  life.proxy_confirms(held);
  CHECK(life.step().empty());
  CHECK(life.message() == said);

  SUBCASE("until the time is over") {
    life.now = begun + 20s;
  }
  SUBCASE("until the time is over, with a restart in between") {
    life.kindlb_restarts();
    CHECK(life.plan().empty());
    life.now = begun + 20s;
  }
  life.settle();
  CHECK(life.serving() == "True/Serving");
  CHECK(life.provisioning() == "False/Complete");
  CHECK(life.service.status.ingress[0].ports.size() == 2);
  CHECK(life.address() == "172.18.255.254");
}

TEST_CASE("a delay that is taken back is over at once") {
  auto life = delayed_update();
  life.service.annotations.erase(kDelay);
  life.settle();
  CHECK(life.provisioning() == "False/Complete");
  CHECK(life.service.status.ingress[0].ports.size() == 2);
}

TEST_CASE("a longer delay counts from the change that brought it") {
  auto life = delayed_update();
  life.now += 15s;
  life.annotate(kDelay, "1m");
  life.step();
  CHECK(life.plan().empty());
  CHECK(life.plan().again == 59s);
}

TEST_CASE("a proxy that is lost during a delay is healed without waiting") {
  auto life = delayed_update();
  SUBCASE("gone") {
    life.proxy_is_lost();
  }
  SUBCASE("down") {
    life.proxy.live = false;
    life.proxy.trouble = "killed by signal 9";
    life.proxy.acknowledged = {};
  }
  life.step();
  CHECK(life.serving() == "False/Infrastructure");
  if (life.proxy.present) life.proxy_claimed();
  life.settle();
  CHECK(life.serving() == "True/Serving");
  CHECK(life.address() == "172.18.255.254");
  CHECK(life.service.status.ingress[0].ports.size() == 2);
}

TEST_CASE("recovery is not delayed, nor is anything but a change of the spec") {
  Life life(a_service().with_port(80).annotated(kDelay, "20s"));
  life.step();
  life.now += 20s;
  life.settle();
  life.proxy_is_lost();
  life.step();
  CHECK(life.serving() == "False/Infrastructure");
  CHECK(life.plan().claim);
  life.settle();
  life.slices[0].endpoints.pop_back();
  CHECK(life.plan().apply.has_value());
}

TEST_CASE("delayed, then failing as asked") {
  Life life(a_service()
                .with_port(80)
                .annotated(kDelay, "20s")
                .annotated("kindlb.dev/fault-infrastructure", "quota exceeded"));
  life.step();
  CHECK(life.serving() == "False/Provisioning");
  CHECK(life.plan().empty());
  life.now += 20s;
  life.settle();
  CHECK(life.serving() == "False/Infrastructure");
  CHECK(life.provisioning() == "False/Complete");
  CHECK(life.message() == "quota exceeded");
  CHECK_FALSE(life.proxy.present);
}

TEST_CASE("a delayed Service can be deleted, refused or become another's at once") {
  auto life = delayed_update();
  SUBCASE("deleted") {
    life.service.deleting = true;
    CHECK(life.plan().remove_proxy);
  }
  SUBCASE("refused") {
    life.service.spec.required_features = {"Teleport"};
    CHECK(life.step().remove_proxy);
    CHECK(life.serving() == "False/Unsupported");
  }
  SUBCASE("no load balancer any more") {
    life.service.spec.type = ServiceType::ClusterIp;
    CHECK(life.plan().remove_proxy);
  }
}
