// What is probed before a Service is reported as serving: a connection to each TCP port, and for
// UDP, where silence proves nothing, any answer of the pod to a TCP connection.
#include "core/plan/plan_support.hpp"

using namespace kindlb::core;
using namespace kindlb::test;

namespace {

/// The plan that first configures the proxy.
Plan first_apply(Life& life) {
  life.step();
  life.proxy_claimed();
  return life.step();
}

}  // namespace

TEST_CASE("probes try a few endpoints of each port") {
  Life life(a_service().with_port(80).with_port(443));
  for (int i = 10; i < 30; ++i)
    life.slices[0].endpoints.push_back(
        {.address = ip("10.244.0." + std::to_string(i)), .node = "kind-worker"});
  const auto probes = first_apply(life).probes;
  REQUIRE(probes.size() == 2);
  CHECK(mentions(probes[0].label, "TCP/80"));
  CHECK(probes[0].targets.size() == 4);
  CHECK(probes[1].targets[0].port == 8443);
}

TEST_CASE("a UDP port without a TCP port beside it is probed for any answer") {
  Life life(a_service().with_port(53, Protocol::Udp));
  const auto apply = first_apply(life);
  REQUIRE(apply.probes.size() == 1);
  CHECK(apply.probes[0].label == "UDP/53/v4");
  CHECK(apply.probes[0].any_answer);
  CHECK(apply.probes[0].targets[0] == target("10.244.0.5", 8053));

  SUBCASE("it answers") {
    life.proxy_confirms(apply);
    life.step();
    CHECK(life.serving() == "True/Serving");
    CHECK(life.plan().empty());
  }
  SUBCASE("it refuses: an agent that knows no better than to say so") {
    life.proxy.reach_detail = "10.244.0.5:8053: Connection refused";
    life.proxy_confirms(apply, Reach::Refused);
    life.step();
    CHECK(life.serving() == "True/Serving");
    CHECK_FALSE(mentions(life.message(), "refused"));
  }
  SUBCASE("there is no way to it: Serving is not a guess") {
    life.proxy.reach_detail = "10.244.0.5:8053: no answer";
    life.proxy_confirms(apply, Reach::Unreachable);
    life.step();
    CHECK(life.serving() == "False/Infrastructure");
    CHECK(mentions(life.message(), "10.244.0.5:8053: no answer"));
    CHECK(mentions(life.message(), "NetworkPolicy"));
    life.settle();
    CHECK(life.serving() == "False/Infrastructure");
  }
}

TEST_CASE("a TCP probe speaks for the UDP ports of the same pods") {
  Life life(a_service().with_port(53, Protocol::Udp).with_port(53));
  const auto probes = first_apply(life).probes;
  REQUIRE(probes.size() == 1);
  CHECK(probes[0].label == "TCP/53/v4");
  CHECK_FALSE(probes[0].any_answer);
}

TEST_CASE("a UDP port that other pods serve is probed for itself") {
  auto service = a_service().with_port(53, Protocol::Udp).with_port(80).build();
  for (auto& port : service.spec.ports) port.target_port = port.name;
  Life life(service);
  struct Case {
    const char* name;
    bool udp_on_both;
    std::size_t probes;
  };
  // TCP is on the control plane's pod only, UDP on the worker's or on both.
  const Case cases[] = {{"on another pod", false, 2}, {"on that pod, too", true, 1}};
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Life one(life);
    auto first = one.slices[0];
    auto second = one.slices[0];
    first.endpoints.pop_back();
    second.name = "web-2";
    second.endpoints.erase(second.endpoints.begin());
    std::erase_if(second.ports, [](const auto& port) { return port.protocol == Protocol::Tcp; });
    if (!c.udp_on_both)
      std::erase_if(first.ports, [](const auto& port) { return port.protocol == Protocol::Udp; });
    one.slices = {first, second};
    CHECK(first_apply(one).probes.size() == c.probes);
  }
}

TEST_CASE("through node ports a UDP port is probed at the nodes") {
  Life life(
      a_service().with_port(53, Protocol::Udp).annotated("kindlb.dev/datapath", "nodeport"));
  const auto probes = first_apply(life).probes;
  REQUIRE(probes.size() == 1);
  CHECK(probes[0].any_answer);
  CHECK(probes[0].targets[0] == target("172.18.0.2", 30053));
}

TEST_CASE("a UDP-only Service on node ports tries the direct path again") {
  Life life(a_service().with_port(53, Protocol::Udp));
  life.path.direct = DirectPath::Blocked;
  life.proxy_confirms(first_apply(life));
  life.step();
  REQUIRE(life.serving() == "True/Serving");
  CHECK(life.plan().on_fallback);
  life.path.retry = DirectRetry::Due;
  life.proxy.reach = Reach::Unknown;
  const auto retry = life.step();
  REQUIRE(retry.apply.has_value());
  CHECK_FALSE(retry.apply->direct);
  REQUIRE(retry.probes.size() == 1);
  CHECK(retry.probes[0].targets[0] == target("10.244.0.5", 8053));
}
