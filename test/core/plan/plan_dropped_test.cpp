// API servers that do not keep everything that is written to them (gates that are off, older
// versions), and --conditions off, which is kindlb not writing it in the first place.
#include "core/plan/plan_support.hpp"

#include <functional>

using namespace kindlb::core;
using namespace kindlb::test;
using namespace std::chrono_literals;

namespace {

/// Every subset of what a server may drop, with and without conditions being written.
void with_each_server(const std::function<void(Life&)>& live) {
  for (unsigned bits = 0; bits < 32; ++bits) {
    Life life(a_service().with_port(80).with_affinity());
    life.policy.capabilities.session_affinity = false;  // so that it is degraded
    life.drops = {.ports = (bits & 1U) != 0,
                  .ip_mode = (bits & 2U) != 0,
                  .conditions = (bits & 4U) != 0,
                  .degraded = (bits & 8U) != 0};
    life.policy.conditions = (bits & 16U) == 0;
    CAPTURE(bits);
    live(life);
  }
}

Condition told(const Life& life, const char* type) {
  const auto reported = as_reported(life.service, life.report, life.now);
  const auto* found = find_condition(reported.status.conditions, type);
  REQUIRE(found != nullptr);
  return *found;
}

bool is_complete(const Life& life) {
  return find_condition(life.service.status.conditions, kServingCondition) != nullptr &&
         find_condition(life.service.status.conditions, kDegradedCondition) != nullptr &&
         !life.service.status.ingress[0].ports.empty() &&
         life.service.status.ingress[0].ip_mode == "Proxy";
}

}  // namespace

TEST_CASE("whatever a server drops, a Service is served with two writes, and no third") {
  with_each_server([](Life& life) {
    life.settle();
    CHECK(life.address() == "172.18.255.254");
    CHECK(life.writes.size() == 2);
    CHECK(told(life, kServingCondition).status == ConditionStatus::True);
    CHECK(told(life, kServingCondition).last_transition <= life.now);
    for (int pass = 0; pass < 60; ++pass) CHECK(life.step().empty());
    CHECK(life.writes.size() == 2);
    if (!life.policy.conditions) CHECK(life.service.status.conditions.empty());
  });
}

TEST_CASE("whatever a server drops, an update takes effect and each time moves once") {
  with_each_server([](Life& life) {
    life.settle();
    const auto served = told(life, kServingCondition).last_transition;
    const auto provisioned = told(life, kProvisioningCondition).last_transition;
    life.add_port(443);
    life.settle();
    CHECK(life.writes.size() == 4);
    CHECK(life.writes.back().ingress[0].ports.size() == 2);
    CHECK(told(life, kServingCondition).last_transition > served);
    CHECK(told(life, kProvisioningCondition).last_transition > provisioned);
    CHECK(told(life, kServingCondition).last_transition <= life.now);
    CHECK(life.address() == "172.18.255.254");
  });
}

TEST_CASE("whatever a server drops, a restart finds what is served and sends the proxy nothing") {
  with_each_server([](Life& life) {
    life.settle();
    const auto before = life.service;
    const auto writes = life.writes.size();
    life.kindlb_restarts();
    life.now += 60s;
    const auto first = life.step();
    // A limitation that the API does not have looks new.
    const bool seems_new = life.policy.conditions && life.drops.degraded && !life.drops.conditions;
    CHECK(first.events.size() == (seems_new ? 1U : 0U));
    CHECK_FALSE(first.claim);
    CHECK_FALSE(first.apply.has_value());
    CHECK(life.step().empty());
    // One more write at most, to learn what the server drops, and nobody sees a difference.
    CHECK(life.writes.size() <= writes + 1);
    CHECK(life.service == before);
  });
}

TEST_CASE("whatever a server drops, a lost proxy is replaced under the same address") {
  with_each_server([](Life& life) {
    life.settle();
    life.proxy_is_lost();
    const auto lost = life.step();
    REQUIRE(lost.events.size() == 1);
    CHECK(lost.events[0].reason == "Infrastructure");
    CHECK(told(life, kServingCondition).reason == "Infrastructure");
    life.settle();
    CHECK(told(life, kServingCondition).reason == "Serving");
    CHECK(life.address() == "172.18.255.254");
  });
}

TEST_CASE("whatever a server drops, a Service is deleted in order") {
  with_each_server([](Life& life) {
    life.settle();
    life.service.deleting = true;
    CHECK(life.plan().remove_proxy);
    CHECK(life.plan().teardown == Teardown::None);
    life.proxy_is_lost();
    CHECK(life.plan().teardown == Teardown::DropFinalizer);
  });
}

TEST_CASE("a server that keeps everything after all gets it once, after a new listing") {
  with_each_server([](Life& life) {
    life.settle();
    const auto served = told(life, kServingCondition).last_transition;
    const auto writes = life.writes.size();
    const bool incomplete = !is_complete(life) && life.policy.conditions;
    life.drops = {};
    CHECK(life.step().empty());  // nothing tells that the server is another one
    life.report->retry = true;
    life.settle();
    CHECK(life.writes.size() <= writes + 1);
    if (incomplete) CHECK(life.writes.size() == writes + 1);
    if (life.policy.conditions) CHECK(is_complete(life));
    CHECK(told(life, kServingCondition).last_transition == served);
  });
}

TEST_CASE("conditions are switched off and on again over restarts") {
  Life life;
  life.settle();
  const auto address = life.address();
  for (const bool on : {false, true, false, true}) {
    CAPTURE(on);
    const auto writes = life.writes.size();
    life.kindlb_restarts();
    life.policy.conditions = on;
    const auto first = life.step();
    CHECK(first.events.empty());
    CHECK_FALSE(first.claim);
    CHECK_FALSE(first.apply.has_value());
    CHECK(life.writes.size() == writes + 1);
    CHECK(life.serving() == (on ? "True/Serving" : "absent"));
    CHECK(life.provisioning() == (on ? "False/Complete" : "absent"));
    if (on) CHECK(mentions(life.message(), address.c_str()));
    CHECK(life.step().empty());
    CHECK(life.address() == address);
  }
}

TEST_CASE("without conditions only they are missing: those of others stay") {
  Life life;
  life.policy.conditions = false;
  life.service.status.conditions = {{.type = "example.com/Other"}};
  const auto first = life.step();
  REQUIRE(first.events.size() == 1);
  CHECK(first.events[0].reason == "Provisioning");
  CHECK(first.write->conditions.empty());
  CHECK(first.write->finalizer);
  life.settle();
  CHECK(life.service.status.conditions.size() == 1);
  CHECK(life.service.status.ingress[0].ip_mode == "Proxy");
  CHECK_FALSE(life.service.status.ingress[0].ports.empty());
}

TEST_CASE("without conditions, work that a restart interrupts goes on") {
  Life life;
  life.policy.conditions = false;
  life.step();
  REQUIRE(life.address().empty());
  life.kindlb_restarts();
  CHECK(life.step().claim);
  CHECK(life.writes.size() == 1);
  life.proxy_claimed();
  life.settle();
  CHECK(life.address() == "172.18.255.254");
}

TEST_CASE("a status that others take away is written again, and its times stay") {
  Life life;
  life.settle();
  const auto before = life.service;
  SUBCASE("the conditions") {
    life.service.status.conditions.clear();
  }
  SUBCASE("the address") {
    life.service.status.ingress.clear();
  }
  SUBCASE("the ports") {
    life.service.status.ingress[0].ports.clear();
  }
  SUBCASE("the mark is that of another Service") {
    life.service.annotations[kObservedAnnotation] = "0123.uid-of-another";
  }
  const auto again = life.step();
  CHECK(again.write.has_value());
  CHECK_FALSE(again.apply.has_value());
  CHECK(life.service == before);
  CHECK(life.step().empty());
}

TEST_CASE("a write whose answer was lost moves no time twice") {
  Life life;
  life.settle();
  life.add_port(443);
  const auto before = life.report;
  for (int lost = 0; lost < 2; ++lost) {
    const auto next = life.step();
    REQUIRE(next.write.has_value());
    life.report = before;
    CHECK_FALSE(life.step().write.has_value());
    const auto asked = life.plan();
    if (asked.apply) life.proxy_confirms(asked);
  }
  CHECK(life.serving() == "True/Serving");
  CHECK(life.provisioning() == "False/Complete");
}

TEST_CASE("a mark of a previous release stays until there is something else to write") {
  auto life = settled();
  auto& mark = life.service.annotations[kObservedAnnotation];
  mark = mark_hash(mark);
  const auto before = life.service;
  life.kindlb_restarts();
  CHECK(life.step().empty());
  CHECK(life.service == before);
  life.add_port(443);
  life.settle();
  CHECK(last_observed(life.service) == observed_hash(life.service, life.policy));
  CHECK(mentions(life.service.annotations[kObservedAnnotation], life.service.uid.c_str()));
  CHECK(life.address() == "172.18.255.254");
}

TEST_CASE("a clock that is set back moves no time back and writes nothing") {
  auto life = settled();
  const auto served = life.since(kServingCondition);
  const auto provisioned = life.since(kProvisioningCondition);
  life.now -= 1h;
  for (int pass = 0; pass < 5; ++pass) CHECK(life.step().empty());
  life.add_port(443);
  life.settle();
  CHECK(life.since(kServingCondition) == served + 1s);
  CHECK(life.since(kProvisioningCondition) > provisioned);
  CHECK(life.since(kProvisioningCondition) <= provisioned + 2s);
}
