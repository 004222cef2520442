// Straight to the pods: which endpoints are used, by which port, and by which route.
#include "kindlb/core/backends.hpp"

#include "support/builders.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace kindlb::core;
using kindlb::test::a_node;
using kindlb::test::a_service;
using kindlb::test::a_slice;
using kindlb::test::cidr;
using kindlb::test::ip;
using kindlb::test::kTcp80;
using kindlb::test::SliceBuilder;
using kindlb::test::target;
using kindlb::test::web;

namespace {

Nodes two_nodes() {
  return {{"a", a_node("a", "172.18.0.2")}, {"b", a_node("b", "172.18.0.3")}};
}

SliceBuilder web_slice() {
  return a_slice().with_port("p80", 8080);
}

Path direct(const std::vector<EndpointSlice>& slices, const Service& service = web(),
            const Nodes& nodes = two_nodes(), const std::string& subnet = "172.18.0.0/16") {
  Slices pointers;
  for (const auto& slice : slices) pointers.push_back(&slice);
  return direct_path({service, service.spec.ports, pointers, nodes, cidr(subnet)});
}

Route host_route(const std::string& to, const std::string& via) {
  return {Cidr::host(ip(to)), ip(via)};
}

}  // namespace

TEST_CASE("each ready pod is a target, reached through its node") {
  const auto path = direct({web_slice().ready("10.244.1.5", "b").ready("10.244.0.5", "a")});
  CHECK(path.direct);
  CHECK(path.ready == 2);
  CHECK(path.problem.empty());
  CHECK(path.targets.at(kTcp80) ==
        std::vector{target("10.244.0.5", 8080), target("10.244.1.5", 8080)});
  CHECK(path.routes == std::vector{host_route("10.244.0.5", "172.18.0.2"),
                                   host_route("10.244.1.5", "172.18.0.3")});
}

TEST_CASE("an endpoint on the proxy's own network needs no route and no node") {
  for (const char* node : {"a", "", "elsewhere"}) {
    CAPTURE(node);
    const auto path = direct({web_slice().ready("172.18.0.2", node)});
    CHECK(path.routes.empty());
    CHECK(path.problem.empty());
    CHECK(path.targets.at(kTcp80) == std::vector{target("172.18.0.2", 8080)});
  }
}

TEST_CASE("which endpoints are used") {
  struct Case {
    const char* name;
    SliceBuilder slice;
    std::vector<Target> want;
  };
  const auto one = [](const char* address) { return std::vector{target(address, 8080)}; };
  const Case cases[] = {
      {"no endpoints", web_slice(), {}},
      {"not ready is left out", web_slice().ready("10.244.0.5", "a").not_ready("10.244.0.6", "a"),
       one("10.244.0.5")},
      {"terminating is left out while another is ready",
       web_slice().ready("10.244.0.5", "a").terminating("10.244.0.6", "a"), one("10.244.0.5")},
      {"terminating but serving is used when none is ready",
       web_slice().not_ready("10.244.0.5", "a").terminating("10.244.0.6", "a"), one("10.244.0.6")},
      {"terminating and no longer serving is not",
       web_slice().terminating("10.244.0.6", "a", false),
       {}},
      {"serving but neither ready nor terminating is not",
       web_slice().with(
           {.address = ip("10.244.0.6"), .ready = false, .serving = true, .node = "a"}),
       {}},
      {"the same pod twice counts once",
       web_slice().ready("10.244.0.5", "a").ready("10.244.0.5", "a"), one("10.244.0.5")},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const auto path = direct({c.slice});
      CHECK(path.targets.at(kTcp80) == c.want);
      CHECK(path.routes.size() == c.want.size());
    }
  }
}

TEST_CASE("no terminating endpoint is used while another slice has a ready one") {
  const auto path = direct({web_slice().terminating("10.244.0.6", "a"),
                            web_slice().called("web-2").ready("10.244.1.5", "b")});
  CHECK(path.targets.at(kTcp80) == std::vector{target("10.244.1.5", 8080)});
}

TEST_CASE("several slices are one set of targets, each with its own port numbers") {
  const auto path =
      direct({web_slice().ready("10.244.0.5", "a"),
              a_slice().called("web-2").with_port("p80", 9090).ready("10.244.1.5", "b")});
  CHECK(path.ready == 2);
  CHECK(path.targets.at(kTcp80) ==
        std::vector{target("10.244.0.5", 8080), target("10.244.1.5", 9090)});
}

TEST_CASE("a pod listed in two slices while it moves between them is one target") {
  const auto path = direct(
      {web_slice().ready("10.244.0.5", "a"), web_slice().called("web-2").ready("10.244.0.5", "a")});
  CHECK(path.targets.at(kTcp80).size() == 1);
  CHECK(path.routes.size() == 1);
}

TEST_CASE("one host never gets two routes") {
  // The kernel refuses the second, and with it the whole configuration.
  const auto path = direct(
      {web_slice().ready("10.244.0.5", "b"), web_slice().called("web-2").ready("10.244.0.5", "a")});
  CHECK(path.routes == std::vector{host_route("10.244.0.5", "172.18.0.2")});
}

TEST_CASE("slices of the other family are not looked at") {
  const auto path =
      direct({web_slice().ready("10.244.0.5", "a"),
              web_slice().called("web-v6").for_family(IpFamily::V6).ready("fd00:10:244::5", "a")});
  CHECK(path.ready == 1);
  CHECK(path.targets.at(kTcp80) == std::vector{target("10.244.0.5", 8080)});
}

TEST_CASE("ports are matched by name and protocol, not by number") {
  const auto service =
      a_service().with_port(80).with_port(443).with_port(80, Protocol::Udp).build();
  const auto path = direct({a_slice()
                                .with_port("p443", 8443)
                                .with_port("p80", 5353, Protocol::Udp)
                                .with_port("p80", 8080)
                                .with_port("metrics", 9000)
                                .ready("10.244.0.5", "a")},
                           service);
  CHECK(path.targets.size() == 3);
  CHECK(path.targets.at(kTcp80) == std::vector{target("10.244.0.5", 8080)});
  CHECK(path.targets.at({Protocol::Tcp, 443}) == std::vector{target("10.244.0.5", 8443)});
  CHECK(path.targets.at({Protocol::Udp, 80}) == std::vector{target("10.244.0.5", 5353)});
}

TEST_CASE("the single port of a Service may have no name") {
  Service service = web();
  service.spec.ports[0].name = "";
  const auto path = direct({a_slice().with_port("", 8080).ready("10.244.0.5", "a")}, service);
  CHECK(path.targets.at(kTcp80) == std::vector{target("10.244.0.5", 8080)});
}

TEST_CASE("pods that do not know a port are targets of the others only") {
  // A named target port may exist in some pods only; the API then makes one slice per set.
  const auto service = a_service().with_port(80).with_port(443).build();
  const auto path = direct(
      {a_slice().with_port("p80", 8080).ready("10.244.0.5", "a"), a_slice()
                                                                      .called("web-2")
                                                                      .with_port("p80", 8080)
                                                                      .with_port("p443", 8443)
                                                                      .ready("10.244.1.5", "b")},
      service);
  CHECK(path.targets.at(kTcp80).size() == 2);
  CHECK(path.targets.at({Protocol::Tcp, 443}) == std::vector{target("10.244.1.5", 8443)});
}

TEST_CASE("each open port is there, even without endpoints") {
  const auto path = direct({}, a_service().with_port(80).with_port(443));
  CHECK(path.targets.size() == 2);
  CHECK(path.targets.at(kTcp80).empty());
  CHECK(path.ready == 0);
  CHECK(path.problem.empty());
}

TEST_CASE("an endpoint without a route is left out and named") {
  struct Case {
    const char* name;
    const char* node;
    const char* says;
  };
  const Case cases[] = {
      {"no node named", "", "has no nodeName"},
      {"a node we do not know", "c", "node c"},
      {"a node without an address on our network", "far", "node far"},
      {"a node with an address of the other family only", "v6", "node v6"},
  };
  auto nodes = two_nodes();
  nodes["far"] = a_node("far", "192.168.0.2");
  nodes["v6"] = a_node("v6", "fc00::2");
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const auto path =
          direct({web_slice().ready("10.244.0.5", "a").ready("10.244.9.9", c.node)}, web(), nodes);
      CHECK(path.targets.at(kTcp80) == std::vector{target("10.244.0.5", 8080)});
      CHECK(path.routes.size() == 1);
      CHECK(path.problem.find("10.244.9.9") != std::string::npos);
      CHECK(path.problem.find(c.says) != std::string::npos);
    }
  }
}

TEST_CASE("nodes that take no outside traffic still lead to their pods") {
  auto nodes = two_nodes();
  nodes["a"].excluded = true;
  nodes["b"].ready = false;
  const auto path =
      direct({web_slice().ready("10.244.0.5", "a").ready("10.244.1.5", "b")}, web(), nodes);
  CHECK(path.targets.at(kTcp80).size() == 2);
  CHECK(path.problem.empty());
}

TEST_CASE("IPv6 goes through the node's IPv6 address") {
  Nodes nodes = two_nodes();
  nodes["a"].internal_ips.push_back(ip("fc00:f853::2"));
  const auto path = direct({web_slice().for_family(IpFamily::V6).ready("fd00:10:244::5", "a")},
                           web(), nodes, "fc00:f853::/64");
  CHECK(path.targets.at(kTcp80) == std::vector{target("fd00:10:244::5", 8080)});
  CHECK(path.routes == std::vector{host_route("fd00:10:244::5", "fc00:f853::2")});
}

TEST_CASE("the order of slices, endpoints and ports does not matter") {
  const auto service = a_service().with_port(80).with_port(443).build();
  std::vector<EndpointSlice> slices = {
      a_slice().of(service).ready("10.244.0.5", "a").ready("10.244.1.7", "b").ready("10.9.9.9", ""),
      a_slice().of(service).called("web-2").ready("10.244.1.5", "b").ready("10.8.8.8", "c")};
  const auto before = direct(slices, service);
  std::reverse(slices.begin(), slices.end());
  for (auto& slice : slices) {
    std::reverse(slice.endpoints.begin(), slice.endpoints.end());
    std::reverse(slice.ports.begin(), slice.ports.end());
  }
  CHECK(direct(slices, service) == before);
}
