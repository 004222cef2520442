// Reflectors against a real API server.

#include "kube/cluster.hpp"
#include "kube/recording_observer.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace kindlb;
using test::Namespace;
using test::RecordingObserver;

namespace {
std::string slice_json(const std::string& name, const std::string& labels) {
  return fmt::format(
      R"({{"metadata":{{"name":"{}","labels":{}}},"addressType":"IPv4",)"
      R"("ports":[{{"name":"","port":8080}}],)"
      R"("endpoints":[{{"addresses":["10.244.0.5"]}},{{"addresses":["10.244.0.6"]}}]}})",
      name, labels);
}
}  // namespace

TEST_CASE("Services are seen created, changed and deleted") {
  const Namespace space("seen");
  space.create_service("before");
  RecordingObserver recorder;
  const auto reflectors = kube::start_reflectors(space.client, "kind", recorder);
  REQUIRE(recorder.wait_for("state services ok"));
  CHECK(recorder.journal().find(space.ns + "/before") != std::string::npos);

  const auto uid = space.create_service("web");
  REQUIRE(recorder.wait_for("service " + space.ns + "/web"));
  CHECK(recorder.last_service().uid == uid);
  space.rest.patch(space.services() + "/web", "merge",
                   R"({"spec":{"loadBalancerSourceRanges":["10.0.0.0/8"]}})");
  REQUIRE(recorder.wait_for("service " + space.ns + "/web", 2));
  CHECK(recorder.last_service().spec.source_ranges == std::vector<std::string>{"10.0.0.0/8"});
  CHECK(recorder.last_service().key == space.key("web"));
  space.rest.remove(space.services() + "/web");
  CHECK(recorder.wait_for("no service " + space.ns + "/web"));
  CAPTURE(recorder.journal());
  CHECK(recorder.last_error().empty());
}

TEST_CASE("EndpointSlices are seen, also when they lose their Service") {
  const Namespace space("slices");
  RecordingObserver recorder;
  const auto reflectors = kube::start_reflectors(space.client, "kind", recorder);
  REQUIRE(recorder.wait_for("state endpointslices ok"));
  space.rest.create(space.slices(), slice_json("web-1", R"({"kubernetes.io/service-name":"web"})"));
  CHECK(recorder.wait_for("slice " + space.ns + "/web-1 2"));
  space.rest.patch(space.slices() + "/web-1", "merge", R"({"endpoints":[]})");
  CHECK(recorder.wait_for("slice " + space.ns + "/web-1 0"));
  space.rest.patch(space.slices() + "/web-1", "merge", R"({"metadata":{"labels":null}})");
  CHECK(recorder.wait_for("no slice " + space.ns + "/web-1", 1));
  space.rest.remove(space.slices() + "/web-1");
  CHECK(recorder.wait_for("no slice " + space.ns + "/web-1", 2));
}

TEST_CASE("Nodes are seen created, ready and deleted") {
  const Namespace space("nodes");
  RecordingObserver recorder;
  const auto reflectors = kube::start_reflectors(space.client, "kind", recorder);
  REQUIRE(recorder.wait_for("state nodes ok"));
  space.rest.create("/api/v1/nodes", R"({"metadata":{"name":"worker"}})");
  CHECK(recorder.wait_for("node worker"));
  space.rest.patch("/api/v1/nodes/worker/status", "merge",
                   R"({"status":{"conditions":[{"type":"Ready","status":"True","reason":"R",)"
                   R"("message":"","lastHeartbeatTime":"2026-01-01T00:00:00Z",)"
                   R"("lastTransitionTime":"2026-01-01T00:00:00Z"}]}})");
  CHECK(recorder.wait_for("node worker ready"));
  space.rest.remove("/api/v1/nodes/worker");
  CHECK(recorder.wait_for("no node worker"));
}

TEST_CASE("a real watch ends at once when asked to") {
  const Namespace space("stop");
  RecordingObserver recorder;
  auto best = std::chrono::milliseconds::max();
  for (int round = 1; round <= 3; ++round) {
    auto reflectors = kube::start_reflectors(space.client, "kind", recorder);
    REQUIRE(recorder.wait_for("state nodes ok", round));
    const auto begin = std::chrono::steady_clock::now();
    reflectors.reset();
    best = std::min(best, std::chrono::duration_cast<std::chrono::milliseconds>(
                              std::chrono::steady_clock::now() - begin));
  }
  CHECK(best < std::chrono::milliseconds(50));
}
