// What a failure at the proxy leads to: another address, node ports, a retry, or nothing.
#include "kindlb/core/recovery.hpp"

#include "support/builders.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>

using namespace kindlb::core;
using kindlb::test::a_service;
using kindlb::test::ip;

namespace {

const auto kChosen = ip("172.18.0.254");
const auto kReported = ip("172.18.0.99");

/// A Service whose proxy is up and has answered the last plan.
struct Case {
  Service service = a_service().with_port(80);
  Plan plan;
  ProxyView proxy{.present = true, .live = true};
  ServiceMemory memory{.reserved = {kChosen}};

  Recovery recover() const { return kindlb::core::recover(memory, {service, plan, proxy}, 0.0); }
  void report_serving() {
    service.status.conditions = {
        {.type = kServingCondition, .status = ConditionStatus::True, .reason = "Serving"}};
  }
  void refuse_address() {
    proxy.address_refused = true;
    proxy.rejection = "172.18.0.254 is in use";
  }
  void lose_pods() {
    proxy.reach = Reach::Unreachable;
    proxy.reach_detail = "No route to host";
    plan.may_fall_back = true;
  }
};

}  // namespace

TEST_CASE("nothing is concluded while nothing has failed, or before the proxy has answered") {
  Case one;
  SUBCASE("all is well") {
    one.proxy.reach = Reach::Reached;
  }
  SUBCASE("a plan is on its way to the proxy") {
    one.lose_pods();
    one.plan.apply = ProxyConfig{};
  }
  SUBCASE("the proxy is not up") {
    one.refuse_address();
    one.proxy.live = false;
  }
  SUBCASE("there is no proxy") {
    one.lose_pods();
    one.proxy.present = false;
  }
  SUBCASE("the Service serves: endpoints come and go") {
    one.lose_pods();
    one.report_serving();
  }
  CHECK(one.recover() == Recovery{.memory = one.memory});
}

TEST_CASE("an address that another host answers for is given up, unless clients know it") {
  Case one;
  one.refuse_address();
  SUBCASE("only chosen so far") {
    const auto out = one.recover();
    CHECK(out.memory.reserved.empty());
    CHECK(out.conflicting == std::vector{kChosen});
    CHECK(out.plan_again);
    CHECK_FALSE(out.retry_later);
    CHECK(out.warning == "172.18.0.254 is in use; choosing another address");
  }
  SUBCASE("one in the status stays") {
    one.memory.reserved = {kReported, kChosen};
    one.service.status.ingress = {{.ip = kReported.text()}};
    const auto out = one.recover();
    CHECK(out.memory.reserved == std::vector{kReported});
    CHECK(out.conflicting == std::vector{kChosen});
  }
  SUBCASE("the only one is in the status: the same again, later") {
    one.memory.reserved = {kReported};
    one.service.status.ingress = {{.ip = kReported.text()}};
    CHECK(one.recover() == Recovery{.memory = one.memory, .retry_later = true});
  }
}

TEST_CASE("a rejected configuration is sent again later") {
  Case one;
  one.proxy.rejection = "cannot bind";
  CHECK(one.recover() == Recovery{.memory = one.memory, .retry_later = true});
  SUBCASE("also that of a Service that serves") {
    one.report_serving();
    CHECK(one.recover().retry_later);
  }
}

TEST_CASE("pods that do not answer: node ports, if the plan allows it and they were not tried") {
  Case one;
  one.lose_pods();
  SUBCASE("allowed") {
    const auto out = one.recover();
    CHECK(out.memory.path.direct == DirectPath::Blocked);
    CHECK(out.plan_again);
    CHECK_FALSE(out.retry_later);
    CHECK(out.warning ==
          "pods cannot be reached directly (No route to host); falling back to node ports");
  }
  SUBCASE("not allowed") {
    one.plan.may_fall_back = false;
    CHECK(one.recover() == Recovery{.memory = one.memory, .retry_later = true});
  }
  SUBCASE("known before") {
    one.memory.path.direct = DirectPath::Blocked;
    CHECK(one.recover() == Recovery{.memory = one.memory, .retry_later = true});
  }
}

TEST_CASE("a Service on node ports tries the direct path and returns to it") {
  Case one;
  one.report_serving();
  one.memory.path.direct = DirectPath::Blocked;
  one.plan.on_fallback = true;
  const auto waiting = one.recover();
  CHECK(waiting.retry_direct_after == std::chrono::seconds(5));
  CHECK_FALSE(waiting.plan_again);

  one.memory = waiting.memory;
  one.memory.path = *direct_retry_due(one.memory.path);
  one.plan.direct_retried = true;
  SUBCASE("a pod answers") {
    one.proxy.reach = Reach::Reached;
    const auto out = one.recover();
    CHECK(out.memory.path.direct == DirectPath::Proven);
    CHECK(out.plan_again);
    CHECK(out.good_news == "pods can be reached directly again; no longer using node ports");
  }
  SUBCASE("none does") {
    one.proxy.reach = Reach::Unreachable;
    const auto out = one.recover();
    CHECK(out.memory.path.direct == DirectPath::Blocked);
    CHECK(out.plan_again);
    CHECK(out.good_news.empty());
    CHECK(out.warning.empty());
  }
}

TEST_CASE("a plan's reservations and reports are remembered") {
  ServiceMemory memory{.reserved = {kChosen}};
  Plan plan;
  SUBCASE("a plan without any changes nothing") {
    CHECK(remember(memory, plan) == memory);
  }
  SUBCASE("addresses replace those before") {
    plan.addresses = {kReported};
    CHECK(remember(memory, plan).reserved == std::vector{kReported});
  }
  SUBCASE("a refused Service has none") {
    plan.unreserve = true;
    CHECK(remember(memory, plan).reserved.empty());
  }
  SUBCASE("what is reported counts once it is written") {
    plan.last_reported = {"hash", "shape"};
    plan.write = StatusApply{};
    CHECK(remember(memory, plan).last_reported == LastReported{});
    plan.write.reset();
    CHECK(remember(memory, plan).last_reported == LastReported{"hash", "shape"});
  }
}
