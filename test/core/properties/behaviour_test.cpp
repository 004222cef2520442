// The tables of docs/contract.md, row by row, through plan_service.
#include "core/properties/behaviour_rows.hpp"

#include <algorithm>
#include <cctype>

using namespace kindlb::core;
using namespace kindlb::test;

namespace {

void check_row(const BehaviourRow& row) {
  Life life(row.asks);
  row.live(life);
  CHECK(life.provisioning() == row.provisioning);
  CHECK(life.serving() == row.serving);
  CHECK(life.degraded() == row.degraded);
  CHECK(life.service.status.ingress.empty() == !row.filled);
  CHECK(life.address() == (row.filled ? life.reserved.at(0).text() : ""));
  REQUIRE_FALSE(life.writes.empty());
  for (const auto& write : life.writes) {
    CHECK(write.finalizer);
    CHECK_FALSE(write.observed.empty());
    CHECK(find_condition(write.conditions, kServingCondition) != nullptr);
    CHECK(find_condition(write.conditions, kProvisioningCondition) != nullptr);
    for (const auto& condition : write.conditions)
      CHECK(condition.status != ConditionStatus::Unknown);
  }
  if (row.serving == "False/Unsupported") CHECK_FALSE(life.proxy.present);
}

/// Sentences for people: a capital or the name of a field first, a full stop last.
bool is_sentence(const std::string& text) {
  return text.size() > 10 && text.back() == '.';
}

}  // namespace

TEST_CASE("behaviour, conditions") {
  for (const auto& row : condition_rows()) {
    SUBCASE(row.name.c_str()) {
      check_row(row);
    }
  }
}

TEST_CASE("behaviour, refuse, degrade, or serve") {
  for (const auto& row : verdict_rows()) {
    SUBCASE(row.name.c_str()) {
      check_row(row);
    }
  }
}

TEST_CASE("behaviour, misbehaviour on demand") {
  for (const auto& row : fault_rows()) {
    SUBCASE(row.name.c_str()) {
      check_row(row);
    }
  }
}

TEST_CASE("behaviour: refusals and degradations are sentences with a way out") {
  for (const auto& row : verdict_rows()) {
    CAPTURE(row.name);
    Life life(row.asks);
    row.live(life);
    if (row.serving == "False/Unsupported") CHECK(is_sentence(life.message()));
    if (row.degraded != "absent") CHECK(is_sentence(life.message(kDegradedCondition)));
  }
}

TEST_CASE("behaviour: whatever the row, a second look and a restart write nothing") {
  for (const auto& row : behaviour_rows()) {
    CAPTURE(row.name);
    Life life(row.asks);
    row.live(life);
    const bool busy = row.provisioning == "True/Provisioning";
    CHECK_FALSE(life.plan().write.has_value());
    if (busy) continue;  // what a restart resumes is tested where it happens
    CHECK(life.plan().empty());
    life.kindlb_restarts();
    life.now += std::chrono::hours(1);
    CHECK(life.plan().empty());
  }
}

namespace {

struct OwnerRow {
  const char* name;
  std::function<void(Life&)> live;
  bool untouched;
  Teardown teardown = Teardown::None;
};

}  // namespace

TEST_CASE("behaviour, whose Service is it") {
  const OwnerRow rows[] = {
      {"type is not LoadBalancer, never ours",
       [](Life& life) { life.service.spec.type = ServiceType::ClusterIp; }, true},
      {"type LoadBalancer, loadBalancerClass empty", [](Life&) {}, false},
      {"type LoadBalancer, loadBalancerClass empty, --require-class",
       [](Life& life) { life.policy.require_class = true; }, true},
      {"class is one we are configured for",
       [](Life& life) {
         life.policy.classes = {"example.com/a", "example.com/b"};
         life.service.spec.load_balancer_class = "example.com/b";
       },
       false},
      {"any other class",
       [](Life& life) { life.service.spec.load_balancer_class = "example.com/x"; }, true},
      {"was ours, type changed away",
       [](Life& life) {
         life.settle();
         life.service.spec.type = ServiceType::ClusterIp;
       },
       false, Teardown::TakeBack},
      {"was ours, deleted",
       [](Life& life) {
         life.settle();
         life.service.deleting = true;
       },
       false, Teardown::DropFinalizer},
  };
  for (const auto& row : rows) {
    SUBCASE(row.name) {
      Life life;
      row.live(life);
      auto plan = life.plan();
      CHECK(plan.empty() == row.untouched);
      CHECK(plan.events.empty() == (row.untouched || row.teardown != Teardown::None));
      CHECK(plan.addresses.empty() == (row.untouched || row.teardown != Teardown::None));
      if (row.teardown == Teardown::None) continue;
      CHECK(plan.remove_proxy);
      CHECK(plan.teardown == Teardown::None);
      // Until the engine confirms that the proxy is gone, that is all there is to do.
      CHECK(life.plan().remove_proxy);
      life.proxy_is_lost();
      plan = life.plan();
      CHECK(plan.teardown == row.teardown);
      CHECK_FALSE(plan.write.has_value());
    }
  }
}

TEST_CASE("behaviour, what is reported") {
  Life life(a_service()
                .with_port(80)
                .with_port(9, Protocol::Sctp)
                .with_port(53, Protocol::Udp)
                .with_families({IpFamily::V6, IpFamily::V4}));
  life.has_ipv6();
  life.settle();
  const std::vector<PortStatus> ports = {{80, Protocol::Tcp, ""},
                                         {9, Protocol::Sctp, "kindlb.dev/PortsNotSupported"},
                                         {53, Protocol::Udp, ""}};
  REQUIRE(life.service.status.ingress.size() == 2);
  CHECK(life.service.status.ingress[0].ip == "fc00:1::ffff:ffff:ffff:fffe");
  CHECK(life.service.status.ingress[1].ip == "172.18.255.254");
  for (const auto& entry : life.service.status.ingress) {
    CHECK(entry.ip_mode == "Proxy");
    CHECK(entry.hostname.empty());
    CHECK(entry.ports == ports);
  }
}
