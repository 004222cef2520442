// A Service that is served changes: what is written, what is sent, and what clients notice.
#include "core/plan/plan_support.hpp"

using namespace kindlb::core;
using namespace kindlb::test;

namespace {

Timestamp time_of(const Life& life, const char* type) {
  return find_condition(life.service.status.conditions, type)->last_transition;
}

void add_port(Life& life, std::uint16_t port) {
  life.service.spec.ports = a_service().with_port(80).with_port(port).build().spec.ports;
  const EndpointSlice slice = a_slice().of(life.service);
  life.slices[0].ports = slice.ports;
}

}  // namespace

TEST_CASE("an endpoint change is sent and not written") {
  auto life = settled();
  const auto before = life.service;
  life.slices[0].endpoints.pop_back();
  const auto plan = life.step();
  CHECK_FALSE(plan.write.has_value());
  REQUIRE(plan.apply.has_value());
  CHECK(plan.probes.empty());
  CHECK(plan.revision.shape == life.proxy.acknowledged.shape);
  CHECK(plan.revision.flow != life.proxy.acknowledged.flow);
  life.proxy_confirms(plan);
  CHECK(life.plan().empty());
  CHECK(life.service == before);
}

TEST_CASE("endpoints that come and go all are no news, either") {
  auto life = settled();
  const auto endpoints = std::exchange(life.slices[0].endpoints, {});
  life.proxy_confirms(life.step());
  CHECK(life.plan().empty());
  life.slices[0].endpoints = endpoints;
  life.proxy_confirms(life.step());
  CHECK(life.plan().empty());
  CHECK(life.serving() == "True/Serving");
}

TEST_CASE("an endpoint that is back before its absence is confirmed is sent at once") {
  auto life = settled();
  const auto endpoints = life.slices[0].endpoints;
  life.slices[0].endpoints.pop_back();
  life.proxy.sent = life.step().revision;
  life.slices[0].endpoints = endpoints;
  const auto plan = life.step();
  CHECK_FALSE(plan.write.has_value());
  REQUIRE(plan.apply.has_value());
  CHECK(plan.revision == life.proxy.acknowledged);
}

TEST_CASE("a node change matters on the node-port path only") {
  auto direct = settled();
  direct.nodes["kind-worker"].excluded = true;
  CHECK(direct.plan().empty());

  Life life;
  life.policy.datapath = Datapath::NodePort;
  life.step();
  life.proxy_claimed();
  life.proxy_confirms(life.step());
  life.step();
  life.nodes["kind-worker"].excluded = true;
  const auto plan = life.step();
  CHECK_FALSE(plan.write.has_value());
  REQUIRE(plan.apply.has_value());
  CHECK(plan.apply->backends[0].targets == std::vector{target("172.18.0.2", 30080)});
}

TEST_CASE("a new port: write, apply, write; the old ones are served meanwhile") {
  auto life = settled();
  const auto served_since = time_of(life, kServingCondition);
  add_port(life, 443);

  const auto reported = life.step();
  CHECK(reported.write.has_value());
  CHECK_FALSE(reported.apply.has_value());
  CHECK(life.serving() == "True/Serving");
  CHECK(life.provisioning() == "True/Provisioning");
  CHECK(life.service.status.ingress[0].ports.size() == 1);
  CHECK(time_of(life, kServingCondition) == served_since);

  const auto sent = life.step();
  CHECK_FALSE(sent.write.has_value());
  REQUIRE(sent.apply.has_value());
  life.proxy.sent = sent.revision;
  CHECK(life.plan().empty());

  life.proxy_confirms(sent);
  const auto done = life.step();
  CHECK(done.write.has_value());
  CHECK(life.provisioning() == "False/Complete");
  CHECK(life.service.status.ingress[0].ports.size() == 2);
  CHECK(time_of(life, kServingCondition) > served_since);
  CHECK(life.address() == "172.18.255.254");
  CHECK(life.plan().empty());
}

TEST_CASE("a new port is reported as open only after an endpoint was reached through it") {
  auto life = settled();
  add_port(life, 443);
  life.step();
  const auto sent = life.step();
  CHECK(sent.probes.size() == 2);
  life.proxy_confirms(sent, Reach::Unknown);
  const auto again = life.step();
  CHECK_FALSE(again.write.has_value());
  CHECK(again.apply.has_value());
  CHECK(life.provisioning() == "True/Provisioning");
  life.proxy_confirms(again, Reach::Unreachable);
  life.step();
  CHECK(life.serving() == "False/Infrastructure");
}

TEST_CASE("other node ports are new semantics: acknowledged and reached before they are reported") {
  Life life;
  life.policy.datapath = Datapath::NodePort;
  life.step();
  life.proxy_claimed();
  life.proxy_confirms(life.step());
  life.step();
  life.service.spec.ports[0].node_port = 31000;
  life.step();
  CHECK(life.serving() == "True/Serving");
  CHECK(life.provisioning() == "True/Provisioning");
  const auto sent = life.step();
  REQUIRE(sent.apply.has_value());
  CHECK(sent.probes.size() == 1);
  life.proxy_confirms(sent);
  life.step();
  CHECK(life.provisioning() == "False/Complete");
  CHECK(life.plan().empty());
}

TEST_CASE(
    "a new spec that changes nothing for the proxy is one write and a new Provisioning time") {
  auto life = settled();
  const auto served_since = time_of(life, kServingCondition);
  const auto provisioned = time_of(life, kProvisioningCondition);
  life.service.annotations["kindlb.dev/note"] = "x";
  SUBCASE("at once") {}
  SUBCASE("seen after a restart") {
    life.kindlb_restarts();
  }
  const auto plan = life.step();
  CHECK(plan.write.has_value());
  CHECK_FALSE(plan.apply.has_value());
  CHECK(life.provisioning() == "False/Complete");
  CHECK(time_of(life, kServingCondition) == served_since);
  CHECK(time_of(life, kProvisioningCondition) > provisioned);
  CHECK(life.plan().empty());
}

TEST_CASE("a rejected update: the former configuration is still served, and it says why") {
  auto life = settled();
  const auto served_since = time_of(life, kServingCondition);
  add_port(life, 443);
  life.step();
  const auto sent = life.step();
  life.proxy_rejects(sent, "cannot bind '172.18.255.254:443'");
  const auto reported = life.step();
  CHECK(reported.write.has_value());
  CHECK(life.serving() == "True/Serving");
  CHECK(life.provisioning() == "True/Provisioning");
  CHECK(mentions(life.message(), "previous"));
  CHECK(mentions(life.message(), "cannot bind '172.18.255.254:443'"));
  CHECK(time_of(life, kServingCondition) == served_since);
  CHECK(life.service.status.ingress[0].ports.size() == 1);
  CHECK(life.plan().empty());

  SUBCASE("tried again, it works, and nothing is written before") {
    life.proxy.retried = std::exchange(life.proxy.rejected, {});
    const auto again = life.step();
    CHECK_FALSE(again.write.has_value());
    SUBCASE("at once") {}
    SUBCASE("after another rejection") {
      life.proxy_rejects(again, "cannot bind '172.18.255.254:443'");
      life.proxy.retried = {};
      CHECK(life.plan().empty());
      life.proxy.retried = std::exchange(life.proxy.rejected, {});
      CHECK_FALSE(life.step().write.has_value());
    }
    life.proxy.retried = {};
    life.proxy_confirms(again);
    life.step();
  }
  SUBCASE("the user takes it back") {
    life.service.spec = settled().service.spec;
    life.slices = settled().slices;
    life.step();
    // Not taken for settled on the spot: the proxy is asked once more, and reached.
    if (const auto again = life.step(); again.apply) life.proxy_confirms(again);
    life.step();
  }
  CHECK(life.serving() == "True/Serving");
  CHECK(life.provisioning() == "False/Complete");
  CHECK_FALSE(mentions(life.message(), "cannot bind"));
  CHECK(life.plan().empty());
}

TEST_CASE("rejected endpoints are reported, too") {
  auto life = settled();
  life.slices[0].endpoints.pop_back();
  life.proxy_rejects(life.step(), "route refused");
  life.step();
  CHECK(life.serving() == "True/Serving");
  CHECK(life.provisioning() == "True/Provisioning");
  CHECK(mentions(life.message(), "route refused"));
}

TEST_CASE("an update that is refused clears the status and lets the proxy go") {
  auto life = settled();
  life.service.spec.required_features = {"Teleport"};
  const auto plan = life.step();
  CHECK(plan.remove_proxy);
  CHECK_FALSE(plan.apply.has_value());
  CHECK(life.serving() == "False/Unsupported");
  CHECK(life.provisioning() == "False/Complete");
  CHECK(life.service.status.ingress.empty());
  life.proxy_is_lost();
  CHECK(life.plan().empty());
}

TEST_CASE("refused from the start: no address, no proxy, both conditions") {
  Life life(a_service().with_port(9, Protocol::Sctp));
  const auto plan = life.step();
  CHECK(plan.addresses.empty());
  CHECK(plan.prepare.empty());
  CHECK_FALSE(plan.claim);
  CHECK(life.serving() == "False/Unsupported");
  CHECK(life.provisioning() == "False/Complete");
  CHECK(life.plan().empty());
}

TEST_CASE("refused, then made possible: work begins") {
  Life life(a_service().with_port(9, Protocol::Sctp));
  life.step();
  life.service.spec.ports = a_service().with_port(80).build().spec.ports;
  life.slices = a_world(life.service).slices;
  life.step();
  CHECK(life.serving() == "False/Provisioning");
  CHECK(life.step().claim);
}
