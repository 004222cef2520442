// Things go wrong: proxies, the engine, the network, the way to the pods.
#include "core/plan/plan_support.hpp"

using namespace kindlb::core;
using namespace kindlb::test;

TEST_CASE("Envoy down: reported, and then serving again on the same address") {
  auto life = settled();
  life.proxy.live = false;
  life.proxy.acknowledged = {};
  life.proxy.trouble = "killed by signal 9";
  const auto reported = life.step();
  CHECK_FALSE(reported.apply.has_value());
  CHECK_FALSE(reported.claim);
  CHECK(life.serving() == "False/Infrastructure");
  CHECK(life.provisioning() == "True/Provisioning");
  CHECK(mentions(life.message(), "killed by signal 9"));
  CHECK(life.address() == "172.18.255.254");
  CHECK(life.plan().empty());

  life.proxy.live = true;
  life.proxy.trouble.clear();
  life.proxy.reach = Reach::Unknown;
  const auto again = life.step();
  REQUIRE(again.apply.has_value());
  CHECK_FALSE(again.write.has_value());
  CHECK(again.probes.size() == 1);
  life.proxy_confirms(again);
  life.step();
  CHECK(life.serving() == "True/Serving");
  CHECK(life.address() == "172.18.255.254");
  CHECK(life.plan().empty());
}

TEST_CASE("an Envoy that was down unseen is a fault of the infrastructure, whatever its words") {
  auto life = settled();
  SUBCASE("down, without a word") {
    life.proxy.live = false;
  }
  SUBCASE("up again, nothing confirmed yet") {
    life.proxy.acknowledged = {};
  }
  life.step();
  CHECK(life.serving() == "False/Infrastructure");
  CHECK(life.provisioning() == "True/Provisioning");
}

TEST_CASE("the proxy is being replaced: the cause is named until another one serves") {
  auto life = settled();
  SUBCASE("noticed before the proxy was given up") {
    life.proxy.live = false;
    life.proxy.trouble = "its container is paused";
    life.step();
  }
  SUBCASE("noticed only then") {}
  life.proxy_is_lost();
  life.proxy.coming = true;
  life.proxy.trouble = "its container is paused";
  life.step();
  CHECK(life.serving() == "False/Infrastructure");
  CHECK(life.provisioning() == "True/Provisioning");
  CHECK(life.message() == "The proxy is recovering: its container is paused");
  CHECK(life.plan().empty());  // neither claimed nor written again

  life.proxy.trouble.clear();
  life.proxy.coming = false;
  CHECK(life.plan().claim);
  life.proxy.coming = true;
  CHECK(life.plan().empty());
  CHECK(life.address() == "172.18.255.254");
}

TEST_CASE("the proxy is gone: another one is claimed for the same address") {
  auto life = settled();
  life.proxy_is_lost();
  const auto first = life.step();
  CHECK(life.serving() == "False/Infrastructure");
  CHECK(life.provisioning() == "True/Provisioning");
  CHECK(mentions(life.message(), "gone"));
  CHECK((first.claim || life.plan().claim));
  life.proxy.coming = true;
  CHECK(life.plan().empty());
  life.proxy_claimed();
  const auto apply = life.step();
  REQUIRE(apply.apply.has_value());
  CHECK(apply.apply->addresses == std::vector{cidr("172.18.255.254/16")});
  life.proxy_confirms(apply);
  life.step();
  CHECK(life.serving() == "True/Serving");
  CHECK(life.address() == "172.18.255.254");
}

TEST_CASE("a fresh proxy that does not come up") {
  Life life;
  life.step();
  life.proxy_claimed();
  life.proxy.live = false;
  CHECK(life.plan().empty());  // starting is not a failure
  life.proxy.trouble = "exit code 1: no such file";
  life.step();
  CHECK(life.serving() == "False/Infrastructure");
  CHECK(mentions(life.message(), "exit code 1: no such file"));
  CHECK_FALSE(life.plan().claim);
}

TEST_CASE("a first configuration that is rejected ends in Envoy's own words, never in True") {
  Life life;
  life.step();
  life.proxy_claimed();
  life.proxy_rejects(life.step(), "cannot bind '172.18.255.254:80': Permission denied");
  life.step();
  CHECK(life.serving() == "False/Infrastructure");
  CHECK(life.provisioning() == "True/Provisioning");
  CHECK(mentions(life.message(), "cannot bind '172.18.255.254:80': Permission denied"));
  CHECK(life.service.status.ingress.empty());
  CHECK(life.plan().empty());

  // The failure stays reported during retries.
  const auto before = life.service;
  life.proxy.rejected = {};
  life.proxy.rejection.clear();
  const auto retry = life.step();
  CHECK(retry.apply.has_value());
  CHECK_FALSE(retry.write.has_value());
  CHECK(life.service == before);
  // Another spec is new work.
  life.service.annotations["kindlb.dev/note"] = "x";
  life.step();
  CHECK(life.serving() == "False/Provisioning");
}

TEST_CASE("the engine creates no container: reported, and not claimed again before the retry") {
  Life life;
  life.step();
  life.trouble = Trouble{"create container: no space left on device"};
  const auto reported = life.step();
  CHECK_FALSE(reported.claim);
  CHECK(life.serving() == "False/Infrastructure");
  CHECK(mentions(life.message(), "no space left on device"));
  CHECK(life.plan().empty());
  life.trouble.reset();
  const auto again = life.step();
  CHECK(again.claim);
  CHECK_FALSE(again.write.has_value());
}

TEST_CASE("trouble elsewhere does not unsettle what is served") {
  auto life = settled();
  life.trouble = Trouble{"the engine does not answer"};
  CHECK(life.plan().empty());
}

TEST_CASE("unreachable endpoints: reported with the detail") {
  Life life;
  life.policy.datapath = Datapath::Direct;
  life.step();
  life.proxy_claimed();
  const auto apply = life.step();
  life.proxy_confirms(apply, Reach::Unreachable);
  life.proxy.reach_detail = "10.244.0.5:8080: No route to host";
  life.step();
  CHECK(life.serving() == "False/Infrastructure");
  CHECK(life.provisioning() == "True/Provisioning");
  CHECK(mentions(life.message(), "10.244.0.5:8080: No route to host"));
  CHECK(life.plan().empty());
}

TEST_CASE("direct blocked: auto goes through node ports, probed as before") {
  Life life;
  life.step();
  life.proxy_claimed();
  life.proxy_confirms(life.step(), Reach::Unreachable);
  life.step();
  life.path.direct = DirectPath::Blocked;
  life.proxy.reach = Reach::Unknown;
  const auto plan = life.step();
  REQUIRE(plan.apply.has_value());
  CHECK_FALSE(plan.may_fall_back);
  CHECK_FALSE(plan.apply->direct);
  CHECK(plan.revision.through_node_ports());
  CHECK(plan.apply->routes.empty());
  CHECK(plan.apply->backends[0].targets ==
        std::vector{target("172.18.0.2", 30080), target("172.18.0.3", 30080)});
  CHECK(plan.probes.size() == 1);
  life.proxy_confirms(plan);
  life.step();
  CHECK(life.serving() == "True/Serving");

  SUBCASE("a restarted kindlb stays on that way, without a word") {
    life.kindlb_restarts();
    CHECK(life.plan().empty());
  }
  SUBCASE("without node ports there is no other way") {
    life.service.spec.ports[0].node_port = 0;
    CHECK(life.plan().may_fall_back);
  }
}

TEST_CASE("no eligible node: Infrastructure, given up, names the label; and back") {
  Life life;
  life.policy.datapath = Datapath::NodePort;
  life.step();
  life.proxy_claimed();
  life.proxy_confirms(life.step());
  life.step();
  REQUIRE(life.serving() == "True/Serving");
  for (auto& [name, node] : life.nodes) node.excluded = true;
  const auto plan = life.step();
  CHECK(life.serving() == "False/Infrastructure");
  CHECK(life.provisioning() == "False/Complete");
  CHECK(mentions(life.message(), "node.kubernetes.io/exclude-from-external-load-balancers"));
  CHECK(life.address() == "172.18.255.254");
  if (plan.apply) life.proxy_confirms(plan);
  if (const auto late = life.step(); late.apply) life.proxy_confirms(late);
  CHECK(life.plan().empty());

  for (auto& [name, node] : life.nodes) node.excluded = false;
  life.proxy.reach = Reach::Unknown;
  for (int i = 0; i < 3; ++i)
    if (const auto next = life.step(); next.apply) life.proxy_confirms(next);
  CHECK(life.serving() == "True/Serving");
  CHECK(life.plan().empty());
}

TEST_CASE("what was acknowledged does not count once something else is on its way") {
  Life life;
  life.policy.datapath = Datapath::NodePort;
  life.step();
  life.proxy_claimed();
  life.proxy_confirms(life.step());
  life.step();
  for (auto& [name, node] : life.nodes) node.excluded = true;
  auto emptied = life.step();
  if (!emptied.apply) emptied = life.step();
  REQUIRE(emptied.apply.has_value());
  life.proxy.sent = emptied.revision;  // and no answer yet

  for (auto& [name, node] : life.nodes) node.excluded = false;
  const auto again = life.step();
  CHECK(life.serving() == "False/Infrastructure");
  REQUIRE(again.apply.has_value());
  CHECK(again.revision == life.proxy.acknowledged);
  CHECK_FALSE(again.probes.empty());
  life.proxy_confirms(again);
  life.step();
  CHECK(life.serving() == "True/Serving");
  CHECK(life.plan().empty());
}

TEST_CASE("no free address: Infrastructure, names the network, and says that it is tried again") {
  Life life;
  life.network[IpFamily::V4] = {cidr("10.0.0.0/30"), {ip("10.0.0.1"), ip("10.0.0.2")}};
  const auto plan = life.step();
  CHECK(life.serving() == "False/Infrastructure");
  CHECK(life.provisioning() == "True/Provisioning");
  CHECK(mentions(life.message(), "10.0.0.0/30"));
  CHECK(mentions(life.message(kProvisioningCondition), "Retrying: "));
  CHECK_FALSE(plan.claim);
  CHECK(plan.again.has_value());
  CHECK(life.plan().empty());
  CHECK_FALSE(life.plan().claim);

  life.network[IpFamily::V4].taken.erase(ip("10.0.0.2"));
  CHECK(life.step().addresses == std::vector{ip("10.0.0.2")});
  CHECK(life.step().claim);
}

TEST_CASE("the network is not known yet: nothing is said, nothing given out") {
  Life life;
  life.network.clear();
  const auto plan = life.plan();
  CHECK(plan.empty());
  CHECK(plan.addresses.empty());
  CHECK(plan.again.has_value());
  SUBCASE("and cannot be had") {
    life.trouble = Trouble{"network kind: no such network"};
    life.step();
    CHECK(life.serving() == "False/Infrastructure");
    CHECK(mentions(life.message(), "network kind: no such network"));
  }
  SUBCASE("what is served stays as it is") {
    auto served = settled();
    served.network.clear();
    CHECK(served.plan().empty());
  }
}

TEST_CASE("a condition another provider left does not count as ours") {
  Life life(
      a_service()
          .with_port(80)
          .reporting("192.0.2.7")
          .saying({kServingCondition, ConditionStatus::True, "Serving", "By others.", at(5)}));
  life.step();
  CHECK(life.serving() == "False/Provisioning");
  CHECK(life.provisioning() == "True/Provisioning");
  CHECK(life.service.status.ingress.empty());
  CHECK(life.step().claim);
}
