// Kubernetes of other versions, or with other feature gates, does not keep all that kindlb writes.
// A Service is served all the same: in as many writes as anywhere else, and then it is left alone.
#include "integration/stage.hpp"
#include "integration/traffic.hpp"
#include "kindlb/core/conditions.hpp"

#include <signal.h>

#include <doctest/doctest.h>

#include <sstream>

namespace {

using namespace kindlb;
using it::Stage;
using it::told;
using testing::http_get;
using testing::OneAnswer;

/// Announced, and then served. One more for learning what the server does not keep.
constexpr int kWritesOfNewService = 3;
constexpr int kServices = 3;  ///< that a test has when it restarts kindlb

struct Gate {
  const char* name;
  it::Flags flags;
  const char* ip_mode;  ///< that is left of "Proxy"
};

/// LoadBalancerIPMode can be switched before v1.32; in v1.29 it is off by default.
std::vector<Gate> ip_mode_gates() {
  if (test::kube_minor_version() >= 32) return {{"ipMode is always there", {}, "Proxy"}};
  return {{"ipMode off", {"--feature-gates=LoadBalancerIPMode=false"}, ""},
          {"ipMode on", {"--feature-gates=LoadBalancerIPMode=true"}, "Proxy"}};
}

/// How often somebody has applied a Service's status: only kindlb does. That the server changed
/// nothing does not matter.
int status_applies(const Stage& stage) {
  int out = 0;
  std::istringstream metrics(stage.rest().get("/metrics"));
  for (std::string line; std::getline(metrics, line);) {
    const auto says = [&](const char* part) { return line.find(part) != std::string::npos; };
    if (line.starts_with("apiserver_request_total{") && says(R"(resource="services")") &&
        says(R"(subresource="status")") && says(R"(verb="APPLY")"))
      out += std::stoi(line.substr(line.rfind(' ') + 1));
  }
  return out;
}

core::Timestamp serving_since(const core::Service& service) {
  const auto* condition = core::find_condition(service.status.conditions, core::kServingCondition);
  REQUIRE(condition != nullptr);
  return condition->last_transition;
}

core::Timestamp now() {
  return std::chrono::time_point_cast<core::Timestamp::duration>(std::chrono::system_clock::now());
}

/// Nothing is left to do for a Service that has been served: what another one takes is all that is
/// written.
void check_left_alone(Stage& stage, const core::Service& service, int writes_of_others = 0) {
  const auto before = status_applies(stage);
  stage.serve_another();
  CHECK(status_applies(stage) - before <= kWritesOfNewService + writes_of_others);
  CHECK(stage.version_of(service.key.name) == service.resource_version);
}

}  // namespace

TEST_CASE("a field that the server drops costs no write") {
  for (const auto& gate : ip_mode_gates()) {
    SUBCASE(gate.name) {
      Stage stage(it::Families::V4, gate.flags);
      const OneAnswer one(stage.gateway(), "one");
      const OneAnswer two(stage.gateway(), "two");
      stage.put_endpoints("web", {{"one", one.target().port}, {"two", two.target().port}});
      stage.start();
      const auto before = status_applies(stage);
      stage.create("web", R"({"type":"LoadBalancer","ports":[{"name":"one","port":80}]})");
      const auto served = stage.await_serving("web");
      CHECK(http_get(it::target_of(served)) == "one");
      CHECK(served.status.ingress.at(0).ip_mode == gate.ip_mode);
      CHECK(served.status.ingress[0].ports ==
            std::vector<core::PortStatus>{{80, core::Protocol::Tcp, ""}});
      CHECK(status_applies(stage) - before <= kWritesOfNewService);
      CHECK(stage.diary().pages("web").size() == 3);  // created, announced, served
      check_left_alone(stage, served);

      // An update tells its two times, once each.
      const auto seen = stage.diary().count("web");
      stage.patch("web", R"({"spec":{"ports":[{"name":"one","port":80},)"
                         R"({"name":"two","port":81}]}})");
      const auto updated = stage.await("web", [](const auto& s) {
        return it::is_serving(s) && s.status.ingress[0].ports.size() == 2;
      });
      CHECK(http_get(it::target_of(updated, 81)) == "two");
      CHECK(updated.status.ingress[0].ip == served.status.ingress[0].ip);
      CHECK(stage.diary().pages("web", seen).size() == 3);  // edited, announced, served
      CHECK(serving_since(updated) > serving_since(served));
      CHECK(serving_since(updated) <= now() + std::chrono::seconds(2));
      check_left_alone(stage, updated);

      // The next kindlb does not know yet what this server drops: it may ask once per Service.
      CHECK(stage.stop(SIGTERM) == 0);
      stage.start();
      check_left_alone(stage, updated, kServices);
      CHECK(http_get(it::target_of(updated, 81)) == "two");
    }
  }
}
