#include "envoy/envoy_updates.hpp"

#include "agent/agent_parts.hpp"
#include "agent/no_space.hpp"

#include <doctest/doctest.h>

#include <filesystem>

using namespace kindlb;
using namespace kindlb::agent;
using protocol::EnvoyState;
using std::chrono::milliseconds;
using testing::AgentParts;
using testing::kAcked;
using testing::kPendingAck;
using testing::nacked;
using testing::unit_at;

namespace {

constexpr const char* kOne = "172.18.0.8";
constexpr const char* kTwo = "172.18.0.9";

}  // namespace

TEST_CASE("a NACK of one request rejects it, and the committed content is written again") {
  AgentParts agent;
  agent.go_live();
  agent.serve(1, unit_at("web", kOne));
  agent.submit(2, unit_at("web", kOne, "r2"));
  CHECK(agent.xds.snapshot().listeners.at("web/l").find("r2") != std::string::npos);
  agent.steps.take();
  agent.acks.report({{"web", nacked("cannot bind")}});
  CHECK(agent.steps.take() == "rejected 2: cannot bind; state; await rollback");
  CHECK(agent.committed() == "web@r1");
  CHECK(agent.xds.snapshot().listeners.at("web/l").find("r1") != std::string::npos);
  agent.acks.report({});
  CHECK(agent.steps.take().empty());
}

TEST_CASE("where the dump has no reason, Envoy's log may have one") {
  AgentParts agent;
  agent.go_live();
  agent.submit(1, unit_at("web", kOne));
  agent.steps.take();
  SUBCASE("it has") {
    agent.log.feed("x: cluster 'web/c' config rejected: because\n");
    agent.acks.report({{"web", nacked()}});
    CHECK(agent.steps.take().starts_with("rejected 1: because; "));
  }
  SUBCASE("it has not") {
    agent.acks.report({{"web", nacked()}});
    CHECK(agent.steps.take().starts_with(
        "rejected 1: Envoy rejected the configuration and gave no reason; see the log of the proxy "
        "container; "));
  }
}

TEST_CASE("a NACK in a shared update rejects only the request that is also refused alone") {
  AgentParts agent;
  agent.go_live();
  agent.apply(1, unit_at("bad", kOne));
  agent.apply(2, unit_at("good", kTwo));
  agent.pass(milliseconds(25));
  agent.acks.report({{"bad", nacked("whole file")}, {"good", nacked("whole file")}});
  CHECK(agent.steps.take() == "await rollback");
  agent.acks.report({});
  CHECK(agent.steps.take() == "await bad@r1");
  agent.acks.report({{"bad", nacked("bad")}});
  CHECK(agent.steps.take() ==
        "rejected 1: bad; remove address 172.18.0.8/16; state; await rollback");
  agent.acks.report({});
  CHECK(agent.steps.take() == "await good@r1");
  agent.acks.report({{"good", kAcked}});
  CHECK(agent.steps.take() == "applied 2; state");
  CHECK(agent.committed() == "good@r1");
}

TEST_CASE("a unit is committed as soon as Envoy serves it, whatever others of the update do") {
  AgentParts agent;
  agent.go_live();
  agent.apply(1, unit_at("slow", kOne));
  agent.apply(2, unit_at("quick", kTwo));
  agent.pass(milliseconds(25));
  agent.acks.report({{"slow", kPendingAck}, {"quick", kAcked}});
  CHECK(agent.steps.take() == "applied 2; state");
  CHECK(agent.pass(AwaitedUpdate::kAckTimeout) ==
        "rejected 1: Envoy neither accepted nor rejected the configuration within 10 s; "
        "remove address 172.18.0.8/16; await rollback");
  CHECK(agent.committed() == "quick@r1");
}

TEST_CASE("requests that arrive during an update share the next one") {
  AgentParts agent;
  agent.go_live();
  agent.submit(1, unit_at("a", kOne));
  agent.submit(2, unit_at("b", kTwo));
  agent.submit(3, unit_at("c", "172.18.0.10"));
  agent.steps.take();
  agent.acks.report({{"a", kAcked}});
  CHECK(agent.steps.take() == "applied 1; state; await b@r1 c@r1");
}

TEST_CASE("a request that cannot be in a snapshot is rejected, and the next one gets its turn") {
  AgentParts agent;
  agent.go_live();
  agent.serve(1, unit_at("web", kOne));
  auto thief = unit_at("thief", kTwo);
  thief.clusters = unit_at("web", kOne).clusters;
  agent.submit(2, thief);
  CHECK(agent.requests.queued().empty());
  CHECK_FALSE(agent.acks.is_running());
  CHECK(agent.committed() == "web@r1");
}

TEST_CASE(
    "after its start Envoy decides about the committed units, then requests have their turn") {
  AgentParts agent;
  agent.units.commit(unit_at("web", kOne), 1);
  agent.units.forget_acknowledgements();
  agent.xds.start(agent.units.snapshot());
  agent.updates.envoy_started();
  CHECK(agent.updates.state() == EnvoyState::Starting);
  CHECK(agent.steps.take() == "await web@r1");
  agent.submit(2, unit_at("dns", kTwo));
  agent.steps.take();
  agent.acks.report({{"web", kPendingAck}});
  CHECK(agent.steps.take().empty());
  agent.acks.report({{"web", nacked("no more")}});
  CHECK(agent.updates.state() == EnvoyState::Live);
  CHECK(agent.steps.take() == "live; await dns@r1");
  CHECK_FALSE(agent.units.states()[0].acknowledged);
}

TEST_CASE("a crash rolls back, tries each request alone, and rejects one that is there twice") {
  AgentParts agent;
  agent.go_live();
  agent.serve(1, unit_at("web", kOne));
  agent.apply(2, unit_at("killer", kTwo));
  agent.apply(3, unit_at("victim", "172.18.0.10"));
  agent.pass(milliseconds(25));
  agent.crash();
  CHECK(agent.updates.state() == EnvoyState::Down);
  CHECK_FALSE(agent.is_published("killer/l"));
  CHECK(agent.steps.take().empty());
  agent.updates.envoy_started();
  agent.steps.take();
  agent.acks.report({{"web", kAcked}});
  CHECK(agent.steps.take() == "live; await killer@r1");
  agent.crash();
  CHECK(agent.steps.take() ==
        "rejected 2: Envoy stopped while applying this configuration: killed by signal 9; "
        "remove address 172.18.0.9/16");
  agent.updates.envoy_started();
  agent.steps.take();
  agent.acks.report({{"web", kAcked}});
  CHECK(agent.steps.take() == "live; await victim@r1");
}

TEST_CASE("without Envoy an Apply waits, a Release is carried out") {
  AgentParts agent;
  agent.go_live();
  agent.serve(1, unit_at("web", kOne));
  agent.crash();
  agent.submit(2, unit_at("dns", kTwo));
  agent.steps.take();
  agent.release(3, "web");
  CHECK(agent.steps.take() == "applied 3; remove address 172.18.0.8/16; state");
  CHECK_FALSE(agent.is_published("web/l"));
  CHECK(agent.pass(Requests::kTimeout) ==
        "rejected 2: Envoy was not ready within 10 s; remove address 172.18.0.9/16");
}

TEST_CASE("a Release that Envoy does not decide about is carried out at its deadline") {
  AgentParts agent;
  agent.go_live();
  agent.serve(1, unit_at("web", kOne));
  SUBCASE("in an update") {
    agent.release(2, "web");
    agent.steps.take();
    CHECK(agent.pass(AwaitedUpdate::kAckTimeout) ==
          "applied 2; remove address 172.18.0.8/16; state");
  }
  SUBCASE("while Envoy starts") {
    agent.crash();
    agent.updates.envoy_started();
    agent.release(2, "web");
    agent.steps.take();
    CHECK(agent.pass(Requests::kTimeout) == "applied 2; remove address 172.18.0.8/16; state");
  }
  CHECK(agent.committed().empty());
}

TEST_CASE("no update starts when the agent is about to exit") {
  AgentParts agent;
  agent.go_live();
  agent.updates.stop();
  agent.submit(1, unit_at("web", kOne));
  CHECK(agent.requests.queued().size() == 1);
  CHECK_FALSE(agent.acks.is_running());
}

TEST_CASE("a request superseded while Envoy decides is committed when accepted, unanswered") {
  AgentParts agent;
  agent.go_live();
  agent.submit(1, unit_at("web", kOne));
  agent.steps.take();
  agent.submit(2, unit_at("web", kOne, "r2"));
  agent.acks.report({{"web", kAcked}});
  CHECK(agent.steps.take() == "state; await web@r2");
  CHECK(agent.committed() == "web@r1");
}

TEST_CASE("files that somebody damaged are whole again before Envoy restarts") {
  AgentParts agent;
  agent.go_live();
  agent.serve(1, unit_at("web", "172.18.0.9"));
  const auto whole = read_file(agent.folder / "xds/lds.json", 10'000);
  REQUIRE(replace_file(agent.folder / "xds/lds.json", "{", 0644).ok());
  std::filesystem::remove_all(agent.folder / "xds/eds");
  SUBCASE("with space") {
    agent.crash();
    CHECK(*read_file(agent.folder / "xds/lds.json", 10'000) == *whole);
    CHECK(std::filesystem::exists(agent.folder / "xds/eds/web.json"));
  }
  SUBCASE("as soon as there is space") {
    {
      const testing::NoSpace full;
      agent.crash();
    }
    agent.crash();
    CHECK(*read_file(agent.folder / "xds/lds.json", 10'000) == *whole);
  }
}

TEST_CASE("on a full volume Envoy restarts with the files it had") {
  AgentParts agent;
  agent.go_live();
  agent.serve(1, unit_at("web", "172.18.0.9"));
  const auto before = read_file(agent.folder / "xds/lds.json", 10'000);
  const testing::NoSpace full;
  agent.crash();
  CHECK(*read_file(agent.folder / "xds/lds.json", 10'000) == *before);
  CHECK(std::filesystem::exists(agent.folder / "xds/eds/web.json"));
}

TEST_CASE("a unit that Envoy refused at its start is tried again when it is applied again") {
  AgentParts agent;
  agent.go_live();
  agent.serve(1, unit_at("web", kOne));
  agent.crash();
  agent.updates.envoy_started();
  agent.acks.report({{"web", nacked("cannot bind")}});
  const auto version = agent.xds.history().listeners_version();
  agent.submit(2, unit_at("web", kOne));
  CHECK(agent.xds.history().listeners_version() == version + 1);
  CHECK(agent.xds.history().clusters_version() < version + 1);
  agent.acks.report({{"web", kAcked}});
  CHECK(agent.steps.take().find("applied 2") != std::string::npos);
  agent.submit(3, unit_at("web", kOne));
  CHECK(agent.xds.history().listeners_version() == version + 1);
}
