#include "request_intake.hpp"

#include "agent/agent_parts.hpp"
#include "support/builders.hpp"

#include <doctest/doctest.h>

using namespace kindlb;
using namespace kindlb::agent;
using std::chrono::milliseconds;
using test::cidr;
using test::ip;
using testing::AgentParts;
using testing::unit_at;

TEST_CASE("an Apply is checked, installed, announced, and only then given to Envoy") {
  AgentParts agent;
  agent.go_live();
  auto web = unit_at("web", "172.18.0.9");
  web.routes = {{cidr("10.244.1.2/32"), ip("172.18.0.2")}};
  web = testing::with_rule(web, testing::udp_rule("172.18.0.9", 53, 1053, true));
  agent.apply(1, web);
  CHECK(agent.steps.take() == "solicit 172.18.0.9");
  CHECK(agent.pass(milliseconds(21)) ==
        "add address 172.18.0.9/16; add route 10.244.1.2/32 via 172.18.0.2; rules 53 filtered; "
        "announce; rules 53 filtered, idle 53->1053; await web@r1");
  agent.acks.report({{"web", testing::kAcked}});
  CHECK(agent.steps.take() == "rules 53->1053 filtered; applied 1; state");
}

TEST_CASE("an address in use, or a refusal of the kernel, rejects the request and leaves nothing") {
  AgentParts agent;
  agent.go_live();
  auto web = unit_at("web", "172.18.0.9");
  web.routes = {{cidr("10.244.1.2/32"), ip("172.18.0.2")}};
  SUBCASE("address in use") {
    agent.network.neighbours[ip("172.18.0.9")] = "02:42:ac:12:00:02";
    agent.apply(1, web);
    CHECK(agent.pass(milliseconds(25)) ==
          "solicit 172.18.0.9; rejected 1: 172.18.0.9 is in use by another host with MAC address "
          "02:42:ac:12:00:02");
  }
  SUBCASE("route refused") {
    agent.network.refused_routes = {cidr("10.244.1.2/32")};
    agent.apply(1, web);
    CHECK(agent.pass(milliseconds(25)) ==
          "solicit 172.18.0.9; add address 172.18.0.9/16; "
          "rejected 1: add route 10.244.1.2/32: refused; remove address 172.18.0.9/16; announce");
  }
  SUBCASE("rules refused") {
    agent.filter.refusing = true;
    agent.apply(1, testing::with_rule(web, testing::udp_rule("172.18.0.9", 53, 0, true)));
    CHECK(agent.pass(milliseconds(25)) ==
          "solicit 172.18.0.9; add address 172.18.0.9/16; "
          "add route 10.244.1.2/32 via 172.18.0.2; rejected 1: install rules: refused; "
          "remove route 10.244.1.2/32; remove address 172.18.0.9/16; announce");
  }
  CHECK(agent.requests.queued().empty());
  CHECK(agent.committed().empty());
}

TEST_CASE("requests of one turn are announced once and share an update") {
  AgentParts agent;
  agent.go_live();
  agent.apply(1, unit_at("a", "172.18.0.8"));
  agent.apply(2, unit_at("b", "172.18.0.9"));
  agent.steps.take();
  CHECK(agent.pass(milliseconds(25)) ==
        "add address 172.18.0.8/16; add address 172.18.0.9/16; announce; await a@r1 b@r1");
}

TEST_CASE("an announcement lets running checks start over") {
  AgentParts agent;
  agent.go_live();
  agent.apply(1, unit_at("a", "172.18.0.8"));
  agent.pass(milliseconds(10));
  agent.apply(2, unit_at("b", "172.18.0.9"));
  CHECK(agent.pass(milliseconds(13)) ==
        "solicit 172.18.0.9; add address 172.18.0.8/16; announce; solicit 172.18.0.9; await a@r1");
}

TEST_CASE("a request superseded during its check changes nothing any more") {
  AgentParts agent;
  agent.go_live();
  agent.apply(1, unit_at("web", "172.18.0.8"));
  agent.apply(2, unit_at("web", "172.18.0.9", "r2"));
  CHECK(agent.pass(milliseconds(25)) ==
        "solicit 172.18.0.8; rejected 1: superseded by a newer request for this Service; "
        "solicit 172.18.0.9; add address 172.18.0.9/16; announce; await web@r2");
}

TEST_CASE("probes run while Envoy decides, and Applied waits for both") {
  AgentParts agent;
  agent.go_live();
  agent.apply(1, unit_at("web", "172.18.0.8"), {{"none", {}}});
  agent.pass(milliseconds(25));
  REQUIRE(agent.requests.find(1) != nullptr);
  REQUIRE(agent.requests.at(1).outcomes.has_value());
  CHECK(agent.requests.at(1).outcomes->at(0).detail == "the probe has no target");
  agent.acks.report({{"web", testing::kAcked}});
  CHECK(agent.steps.take() == "applied 1; state");
}

TEST_CASE("a Release touches no network before Envoy has let go") {
  AgentParts agent;
  agent.go_live();
  agent.serve(1, unit_at("web", "172.18.0.9"));
  agent.release(2, "web");
  CHECK(agent.steps.take() == "await rollback");
  CHECK_FALSE(agent.is_published("web/l"));
  agent.acks.report({});
  CHECK(agent.steps.take() == "applied 2; remove address 172.18.0.9/16; state; state");
}
