// Updates of Envoy whose units have UDP rules: what changes before the files, and what after the
// ACK.
#include "agent/agent_parts.hpp"
#include "agent/no_space.hpp"
#include "envoy/envoy_updates.hpp"

#include <doctest/doctest.h>

#include <filesystem>

using namespace kindlb;
using namespace kindlb::agent;
using std::chrono::milliseconds;
using testing::AgentParts;
using testing::kAcked;
using testing::nacked;
using testing::udp_rule;
using testing::unit_at;

namespace {

constexpr const char* kDnsAt = "172.18.0.9";

protocol::Unit dns(const core::UdpRule& rule, const std::string& revision = "r1") {
  return testing::with_rule(unit_at("dns", kDnsAt, revision), rule);
}

}  // namespace

TEST_CASE("files that cannot be written reject the requests, without quarantine") {
  AgentParts agent;
  agent.go_live();
  agent.apply(1, dns(udp_rule(kDnsAt, 53, 1053, true)));
  {
    const testing::NoSpace full;
    CHECK(agent.pass(milliseconds(25))
              .ends_with("/xds/new/0: File too large; remove address 172.18.0.9/16; rules none"));
  }
  agent.serve(2, dns(udp_rule(kDnsAt, 53, 1053, true)));
  CHECK(agent.committed() == "dns@r1");
}

TEST_CASE("when a redirection ends, it is switched over at the commit and its listener drains") {
  AgentParts agent;
  agent.go_live();
  agent.serve(1, dns(udp_rule(kDnsAt, 53, 1053)));
  CHECK(agent.filter.text() == "53->1053");
  agent.submit(2, dns(udp_rule(kDnsAt, 53), "r2"));
  CHECK(agent.filter.text() == "53->1053");
  CHECK(agent.is_published("redirect/1053"));
  agent.steps.take();
  agent.acks.report({{"dns", kAcked}});
  CHECK(agent.steps.take() == "rules idle 53->1053; applied 2; state");
  CHECK(agent.pass(milliseconds(1'999)).empty());
  CHECK(agent.is_published("redirect/1053"));
  CHECK(agent.pass(milliseconds(1)) == "await rollback");
  CHECK_FALSE(agent.is_published("redirect/1053"));
  CHECK(agent.filter.text() == "idle 53->1053");
}

TEST_CASE("a listener that has drained is removed between two updates") {
  AgentParts agent;
  agent.go_live();
  agent.serve(1, dns(udp_rule(kDnsAt, 53, 1053)));
  agent.serve(2, dns(udp_rule(kDnsAt, 53), "r2"));
  agent.submit(3, unit_at("web", "172.18.0.8"));
  agent.steps.take();
  CHECK(agent.pass(milliseconds(2'050)).empty());
  CHECK(agent.is_published("redirect/1053"));
  agent.acks.report({{"web", kAcked}});
  CHECK(agent.steps.take() == "applied 3; state");
  CHECK(agent.pass(UdpRules::kDrainRetry) == "await rollback");
}

TEST_CASE("ports of a rejected unit stay filtered until the rollback is acknowledged") {
  AgentParts agent;
  agent.go_live();
  agent.submit(1, dns(udp_rule(kDnsAt, 53, 1053, true)));
  agent.steps.take();
  agent.acks.report({{"dns", nacked("bad")}});
  CHECK(agent.steps.take() ==
        "rejected 1: bad; remove address 172.18.0.9/16; state; await rollback");
  CHECK(agent.filter.text() == "53 filtered, idle 53->1053");
  agent.acks.report({});
  CHECK(agent.steps.take() == "rules idle 53->1053");
}

TEST_CASE("a rollback that is not acknowledged proves nothing about ports") {
  AgentParts agent;
  agent.go_live();
  agent.submit(1, dns(udp_rule(kDnsAt, 53, 0, true)));
  agent.acks.report({{"dns", nacked("bad")}});
  CHECK(agent.filter.text() == "53 filtered");
  agent.pass(AwaitedUpdate::kRollbackTimeout);
  CHECK(agent.filter.text() == "53 filtered");
}

TEST_CASE("a released unit leaves no rules") {
  AgentParts agent;
  agent.go_live();
  agent.serve(1, dns(udp_rule(kDnsAt, 53, 1053)));
  agent.serve(2, dns(udp_rule(kDnsAt, 53), "r2"));
  CHECK(agent.filter.text() == "idle 53->1053");
  agent.release(3, "dns");
  agent.steps.take();
  agent.acks.report({});
  CHECK(agent.steps.take() == "applied 3; remove address 172.18.0.9/16; rules none; state; state");
}

TEST_CASE("a crash ends draining and quarantine") {
  AgentParts agent;
  agent.go_live();
  agent.serve(1, dns(udp_rule(kDnsAt, 53, 1053)));
  agent.serve(2, dns(udp_rule(kDnsAt, 53), "r2"));
  CHECK(agent.filter.text() == "idle 53->1053");
  agent.crash();
  CHECK(agent.steps.take() == "rules none");
  CHECK_FALSE(agent.is_published("redirect/1053"));
  CHECK(agent.pass(UdpRules::kDrainTime).empty());
}
