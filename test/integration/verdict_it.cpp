// Whose Service it is, what is refused or degraded, and the way through node ports.
#include "integration/clients.hpp"
#include "integration/stage.hpp"
#include "kindlb/core/conditions.hpp"
#include "kindlb/core/eligibility.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <thread>

namespace {

using namespace kindlb;
using it::kServing;
using it::Stage;
using it::told;
using testing::http_get;
using testing::OneAnswer;

constexpr const char* kRefused = "Serving=False/Unsupported Provisioning=False/Complete";
constexpr const char* kGivenUp = "Serving=False/Infrastructure Provisioning=False/Complete";
constexpr const char* kRetrying = "Serving=False/Infrastructure Provisioning=True/Provisioning";

std::string message_of(const core::Service& service, const char* type) {
  const auto* condition = core::find_condition(service.status.conditions, type);
  return condition == nullptr ? "" : condition->message;
}

bool is_given_up(const core::Service& service) {
  return told(service) == kGivenUp;
}

/// A Service of a class; empty: without one.
core::Service create_of_class(Stage& stage, const std::string& name, const std::string& wanted) {
  const auto line = wanted.empty() ? "" : fmt::format(R"("loadBalancerClass":"{}",)", wanted);
  return stage.create(name, R"({"type":"LoadBalancer",)" + line + R"("ports":[{"port":80}]})");
}

/// With a node port on which `backend` listens before kindlb hears of the Service.
struct NodePortService {
  NodePortService(Stage& stage, const std::string& name)
      : created(stage.create(name, R"({"type":"NodePort","ports":[{"port":80}]})")),
        backend(stage.gateway(), "through the node", created.spec.ports.at(0).node_port) {}
  const core::Service created;
  const OneAnswer backend;
};

}  // namespace

TEST_CASE("a Service of another class is not touched") {
  struct Case {
    const char* name;
    it::Flags flags;
    const char* theirs;
    const char* ours;
  };
  const Case cases[] = {
      {"by default, any foreign class", {}, "example.com/theirs", "kindlb.dev/envoy"},
      {"with a class of one's own, the default one",
       {"--load-balancer-class", "example.com/a", "--load-balancer-class", "example.com/b"},
       "kindlb.dev/envoy",
       "example.com/b"},
      {"with --require-class, a Service without", {"--require-class"}, "", "kindlb.dev/envoy"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      Stage stage;
      stage.start(c.flags);
      const auto theirs = create_of_class(stage, "theirs", c.theirs);
      create_of_class(stage, "ours", c.ours);
      CHECK(told(stage.await_serving("ours")) == kServing);
      CHECK(stage.version_of("theirs") == theirs.resource_version);
      const auto events = stage.event_reasons("theirs");
      CHECK_MESSAGE(events.empty(), fmt::format("{}", fmt::join(events, ", ")));
      CHECK_FALSE(stage.proxy_of(theirs));
      stage.remove("theirs");
      CHECK(stage.diary().wait_gone("theirs", it::kPatience));
    }
  }
}

TEST_CASE("what cannot be served is refused, or degraded, and says so") {
  Stage stage;
  const OneAnswer backend(stage.gateway(), "hello");
  stage.put_endpoints("mixed", {{"web", backend.target().port}});
  stage.start();

  stage.create("sctp", R"({"type":"LoadBalancer","ports":[{"port":80,"protocol":"SCTP"}]})");
  const auto alone = stage.await("sctp", [](const auto& s) { return !told(s).empty(); });
  CHECK(told(alone) == kRefused);
  CHECK(alone.status.ingress.empty());
  CHECK(message_of(alone, core::kServingCondition).find("SCTP/80") != std::string::npos);
  CHECK_FALSE(stage.proxy_of(alone));
  stage.await_events("sctp", {"Unsupported"});

  stage.create("mixed", R"({"type":"LoadBalancer","ports":[{"name":"web","port":80},)"
                        R"({"name":"sigtran","port":2905,"protocol":"SCTP"}]})");
  const auto degraded = stage.await_serving("mixed");
  CHECK(told(degraded) == std::string(kServing) + " Degraded=True/PortsNotSupported");
  CHECK(
      degraded.status.ingress.at(0).ports ==
      std::vector<core::PortStatus>{{80, core::Protocol::Tcp, ""},
                                    {2905, core::Protocol::Sctp, "kindlb.dev/PortsNotSupported"}});
  CHECK(http_get(it::target_of(degraded)) == "hello");
  stage.await_events("mixed", {"Degraded"});

  // From served to refused: the proxy and the address are given up.
  stage.patch("mixed", R"({"spec":{"ports":[{"port":2905,"protocol":"SCTP"}]}})");
  const auto refused = stage.await("mixed", [](const auto& s) { return told(s) == kRefused; });
  CHECK(refused.status.ingress.empty());
  stage.until("the proxy goes", [&] { return !stage.proxy_of(refused); });
  // And back.
  stage.patch("mixed", R"({"spec":{"ports":[{"name":"web","port":80}]}})");
  const auto again = stage.await_serving("mixed", stage.diary().count("mixed") - 1);
  CHECK(told(again) == kServing);
  CHECK(http_get(it::target_of(again)) == "hello");
}

TEST_CASE("through node ports, as long as a node may take traffic") {
  Stage stage;
  const auto node = stage.ns() + "-node";
  const NodePortService web(stage, "web");
  stage.put_endpoints("web", {{"", 1}});  // not where the traffic goes
  stage.create_node(node);
  stage.exclude_node(node, true);
  stage.start({"--datapath", "nodeport"});
  stage.patch("web", R"({"spec":{"type":"LoadBalancer"}})");
  const auto excluded = stage.await("web", is_given_up);
  CHECK(message_of(excluded, core::kServingCondition)
            .find("node.kubernetes.io/exclude-from-external-load-balancers") != std::string::npos);

  auto seen = stage.diary().count("web");
  stage.exclude_node(node, false);
  const auto served = stage.await_serving("web", seen);
  CHECK(http_get(it::target_of(served)) == "through the node");

  seen = stage.diary().count("web");
  stage.exclude_node(node, true);
  const auto left = stage.await("web", is_given_up, seen);
  CHECK(left.status.ingress == served.status.ingress);
  seen = stage.diary().count("web");
  stage.exclude_node(node, false);
  const auto again = stage.await_serving("web", seen);
  CHECK(again.status.ingress == served.status.ingress);
  CHECK(http_get(it::target_of(again)) == "through the node");
}

TEST_CASE("a node port that answers late is not called serving before it does") {
  Stage stage;
  const auto created = stage.create("web", R"({"type":"NodePort","ports":[{"port":80}]})");
  stage.put_endpoints("web", {{"", 1}});
  stage.create_node(stage.ns() + "-node");
  stage.start({"--datapath", "nodeport"});
  stage.patch("web", R"({"spec":{"type":"LoadBalancer"}})");
  stage.await("web", [](const auto& s) { return !told(s).empty(); });
  stage.until("a proxy holds it", [&] { return stage.proxy_of(created).has_value(); });
  // As with kube-proxy, which writes its rules once a second.
  std::this_thread::sleep_for(std::chrono::milliseconds(1'200));
  CHECK_FALSE(it::is_serving(stage.get("web")));
  const OneAnswer backend(stage.gateway(), "at last", created.spec.ports.at(0).node_port);
  CHECK(http_get(it::target_of(stage.await_serving("web"))) == "at last");
}

TEST_CASE("where pods cannot be reached directly, node ports are used") {
  Stage stage;
  const NodePortService web(stage, "web");
  stage.put_endpoints("web", {{"", 80}}, stage.unused_address());
  stage.create_node(stage.ns() + "-node");
  stage.start();
  stage.patch("web", R"({"spec":{"type":"LoadBalancer"}})");
  const auto served = stage.await_serving("web");
  CHECK(http_get(it::target_of(served)) == "through the node");
}

TEST_CASE("node ports are left again once pods can be reached") {
  Stage stage;
  const auto web = stage.create("web", R"({"type":"NodePort","ports":[{"port":80}]})");
  const OneAnswer node(stage.gateway(), "through the node", web.spec.ports.at(0).node_port);
  const auto pod = stage.unused_address();
  stage.put_endpoints("web", {{"", 80}}, pod);
  stage.create_node(stage.ns() + "-node");
  stage.start();
  stage.patch("web", R"({"spec":{"type":"LoadBalancer"}})");
  const auto served = stage.await_serving("web");
  REQUIRE(http_get(it::target_of(served)) == "through the node");

  const it::Clients address(stage, pod);
  const OneAnswer direct(pod, "straight", 80);
  stage.until("pods are reached directly",
              [&] { return http_get(it::target_of(served)) == "straight"; });
  CHECK(stage.version_of("web") == served.resource_version);
}

TEST_CASE("a range that is used up is named, and who waits is served when something is free") {
  Stage stage;
  const auto only = stage.unused_address().text();
  const OneAnswer backend(stage.gateway(), "hello");
  for (const auto* name : {"first", "second"}) {
    stage.create_web(name);
    stage.put_endpoints(name, {{"", backend.target().port}});
  }
  stage.start({"--ip-range", only});
  stage.until("one is served and the other is not", [&] {
    const auto first = stage.get("first");
    const auto second = stage.get("second");
    return (it::is_serving(first) && told(second) == kRetrying) ||
           (it::is_serving(second) && told(first) == kRetrying);
  });
  const bool first_won = it::is_serving(stage.get("first"));
  const std::string loser = first_won ? "second" : "first";
  CHECK(message_of(stage.get(loser), core::kServingCondition).find(only) != std::string::npos);
  stage.remove(first_won ? "first" : "second");
  const auto served = stage.await_serving(loser);
  CHECK(served.status.ingress.at(0).ip == only);
  CHECK(http_get(it::target_of(served)) == "hello");
}
