// The agent's own listener: offered to a live Envoy by itself, kept or withdrawn.
#include "agent/agent_parts.hpp"
#include "liveness/liveness_listener.hpp"

#include <doctest/doctest.h>

using namespace kindlb;
using namespace kindlb::agent;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::kAcked;
using testing::unit_at;

namespace {

constexpr const char* kOwn = "kindlb-liveness";

struct OwnWorld : testing::AgentParts {
  OwnWorld() : AgentParts(liveness_listener()) {}

  bool has_own_listener() const {
    return read_file(folder / "xds/lds.json", 10'000)->find(kOwn) != std::string::npos;
  }
};

}  // namespace

TEST_CASE("the agent's listener is offered once Envoy is live, alone, and kept") {
  OwnWorld world;
  world.xds.start({});
  world.updates.envoy_started();
  CHECK_FALSE(world.has_own_listener());
  world.acks.report({});
  CHECK(world.steps.take() == "await rollback; live; await kindlb-liveness@");
  CHECK(world.has_own_listener());
  CHECK(world.xds.snapshot() == XdsSnapshot());

  world.apply(1, unit_at("web", "172.18.0.9"));
  CHECK(world.pass(milliseconds(25)).find("await") == std::string::npos);
  world.acks.report({{kOwn, kAcked}});
  CHECK(world.steps.take() == "own; await web@r1");
  world.acks.report({{"web", kAcked}});
  CHECK(world.has_own_listener());
  CHECK(world.committed() == "web@r1");

  world.crash();
  CHECK(world.has_own_listener());
  CHECK(world.xds.is_own_accepted());
}

TEST_CASE("a listener that Envoy refuses is withdrawn, and everything else is applied") {
  OwnWorld world;
  world.go_live();
  SUBCASE("refused") {
    world.acks.report({{kOwn, testing::nacked()}});
    CHECK(world.steps.take() == "await rollback");
  }
  SUBCASE("no decision") {
    CHECK(world.pass(seconds(10)) == "await rollback");
  }
  CHECK_FALSE(world.has_own_listener());
  CHECK_FALSE(world.xds.is_own_accepted());
  world.acks.report({});
  world.serve(1, unit_at("web", "172.18.0.9"));
  CHECK(world.committed() == "web@r1");
  world.crash();
  world.go_live();
  CHECK_FALSE(world.acks.is_running());
  CHECK_FALSE(world.has_own_listener());
}

TEST_CASE("a listener with which Envoy exits twice is not offered again") {
  OwnWorld world;
  world.go_live();
  CHECK(world.has_own_listener());
  world.crash();
  CHECK_FALSE(world.has_own_listener());
  world.go_live();
  CHECK(world.has_own_listener());
  world.crash();
  world.go_live();
  CHECK_FALSE(world.has_own_listener());
  world.serve(1, unit_at("web", "172.18.0.9"));
  CHECK(world.committed() == "web@r1");
}

TEST_CASE("no unit may take the name of the agent's listener") {
  auto unit = unit_at("web", "172.18.0.9");
  CHECK(invalid_reason(unit).empty());
  unit.listeners = {liveness_listener()};
  CHECK(invalid_reason(unit) == "listener kindlb-liveness is reserved");
}
