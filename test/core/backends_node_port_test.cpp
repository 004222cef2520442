// Through node ports: which nodes are eligible (and what is said when none is), and the choice
// between the two ways.
#include "kindlb/core/backends.hpp"
#include "support/builders.hpp"
#include "support/mentions.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace kindlb::core;
using kindlb::test::a_node;
using kindlb::test::a_service;
using kindlb::test::a_slice;
using kindlb::test::cidr;
using kindlb::test::ip;
using kindlb::test::kTcp80;
using kindlb::test::mentions;
using kindlb::test::SliceBuilder;
using kindlb::test::target;

namespace {

constexpr const char* kLabel = "node.kubernetes.io/exclude-from-external-load-balancers";

struct Place {
  Service service = a_service().with_port(80);
  std::vector<EndpointSlice> slices = {
      a_slice().with_port("p80", 8080).ready("10.244.0.5", "a").ready("10.244.1.5", "b")};
  Nodes nodes = {{"a", a_node("a", "172.18.0.2")},
                 {"b", a_node("b", "172.18.0.3")},
                 {"c", a_node("c", "172.18.0.4")}};
  std::string subnet = "172.18.0.0/16";

  Path by_node_ports() const {
    return with_input([](const PathInput& input) { return node_port_path(input); });
  }
  Path chosen(Datapath wanted, bool blocked = false) const {
    return with_input([&](const PathInput& input) { return choose_path(input, wanted, blocked); });
  }
  template <typename Ask>
  Path with_input(Ask ask) const {
    Slices pointers;
    for (const auto& slice : slices) pointers.push_back(&slice);
    return ask(PathInput{service, service.spec.ports, pointers, nodes, cidr(subnet)});
  }
};

std::vector<Target> at_nodes(const std::vector<std::string>& addresses) {
  std::vector<Target> out;
  for (const auto& address : addresses) out.push_back(target(address, 30080));
  return out;
}

struct Ineligible {
  const char* name;
  void (*edit)(Node&);
};

std::vector<Ineligible> ineligible() {
  return {{"not ready", [](Node& node) { node.ready = false; }},
          {"being deleted", [](Node& node) { node.deleting = true; }},
          {"excluded", [](Node& node) { node.excluded = true; }}};
}

}  // namespace

TEST_CASE("a node takes traffic when it is Ready, stays, and is not excluded") {
  const auto node = a_node("a", "172.18.0.2");
  CHECK(takes_traffic(node));
  for (const auto& c : ineligible()) {
    SUBCASE(c.name) {
      auto changed = node;
      c.edit(changed);
      CHECK_FALSE(takes_traffic(changed));
    }
  }
}

TEST_CASE("every eligible node is a target, without routes") {
  const auto path = Place{}.by_node_ports();
  CHECK_FALSE(path.direct);
  CHECK(path.routes.empty());
  CHECK(path.problem.empty());
  CHECK(path.ready == 2);
  CHECK(path.targets.at(kTcp80) == at_nodes({"172.18.0.2", "172.18.0.3", "172.18.0.4"}));
}

TEST_CASE("nodes that may not take traffic are left out") {
  for (const auto& c : ineligible()) {
    SUBCASE(c.name) {
      Place place;
      c.edit(place.nodes["b"]);
      CHECK(place.by_node_ports().targets.at(kTcp80) == at_nodes({"172.18.0.2", "172.18.0.4"}));
    }
  }
}

TEST_CASE("nodes without an address of the family are left out") {
  Place place;
  place.nodes["b"].internal_ips = {ip("fc00::3")};
  CHECK(place.by_node_ports().targets.at(kTcp80) == at_nodes({"172.18.0.2", "172.18.0.4"}));
}

TEST_CASE("each port has its own node port") {
  Place place;
  place.service = a_service().with_port(80).with_port(443);
  const auto path = place.by_node_ports();
  CHECK(path.targets.at(kTcp80).front() == target("172.18.0.2", 30080));
  CHECK(path.targets.at({Protocol::Tcp, 443}).front() == target("172.18.0.2", 30443));
}

TEST_CASE("traffic policy Local: only nodes with endpoints of their own") {
  Place place;
  place.service = a_service().with_port(80).local();
  SUBCASE("ready ones") {
    CHECK(place.by_node_ports().targets.at(kTcp80) == at_nodes({"172.18.0.2", "172.18.0.3"}));
  }
  SUBCASE("not those whose endpoints are not ready") {
    place.slices = {
        a_slice().with_port("p80", 8080).ready("10.244.0.5", "a").not_ready("10.244.1.5", "b")};
    CHECK(place.by_node_ports().targets.at(kTcp80) == at_nodes({"172.18.0.2"}));
  }
  SUBCASE("terminating ones, when none is ready") {
    place.slices = {a_slice().with_port("p80", 8080).terminating("10.244.1.5", "b")};
    CHECK(place.by_node_ports().targets.at(kTcp80) == at_nodes({"172.18.0.3"}));
  }
  SUBCASE("not excluded ones, whatever runs there") {
    place.nodes["a"].excluded = true;
    CHECK(place.by_node_ports().targets.at(kTcp80) == at_nodes({"172.18.0.3"}));
  }
  SUBCASE("no endpoints are not a problem of the path") {
    place.slices = {};
    const auto path = place.by_node_ports();
    CHECK(path.targets.at(kTcp80).empty());
    CHECK(path.problem.empty());
  }
}

TEST_CASE("no eligible node: the label and the command that removes it are named") {
  Place place;
  for (auto& [name, node] : place.nodes) node.excluded = true;
  const auto path = place.by_node_ports();
  CHECK(path.targets.at(kTcp80).empty());
  CHECK(mentions(path.problem, "3 excluded"));
  CHECK(mentions(path.problem, kLabel));
  CHECK(mentions(path.problem, std::string("kubectl label nodes --all ") + kLabel + "-"));
}

TEST_CASE("no eligible node for another reason: the label is not blamed") {
  Place none_known;
  none_known.nodes.clear();
  Place none_ready;
  for (auto& [name, node] : none_ready.nodes) node.ready = false;
  Place all_leaving;
  for (auto& [name, node] : all_leaving.nodes) node.deleting = true;
  for (const auto* place : {&none_known, &none_ready, &all_leaving}) {
    CAPTURE(place->nodes.size());
    const auto path = place->by_node_ports();
    CHECK(path.targets.at(kTcp80).empty());
    CHECK(mentions(path.problem, "kubectl get nodes"));
    CHECK_FALSE(mentions(path.problem, kLabel));
  }
}

TEST_CASE("no eligible node has an address of the family: that is a problem") {
  Place place;
  place.subnet = "fc00:f853::/64";
  CHECK(mentions(place.by_node_ports().problem, "IPv6"));
}

TEST_CASE("Local with endpoints on excluded nodes only is a problem, and says which label") {
  Place place;
  place.service = a_service().with_port(80).local();
  place.nodes["a"].excluded = place.nodes["b"].excluded = true;
  const auto path = place.by_node_ports();
  CHECK(path.targets.at(kTcp80).empty());
  CHECK(mentions(path.problem, kLabel));
}

TEST_CASE("Local with endpoints on nodes that are not ready says Local is why") {
  Place place;
  place.service = a_service().with_port(80).local();
  place.nodes["a"].ready = place.nodes["b"].ready = false;
  const auto problem = place.by_node_ports().problem;
  CHECK(mentions(problem, "externalTrafficPolicy"));
  CHECK_FALSE(mentions(problem, kLabel));
}

TEST_CASE("a port without a node port is a problem, and the others still have theirs") {
  Place place;
  place.service = a_service().with_port(80).with_port(443);
  place.service.spec.ports[1].node_port = 0;
  const auto path = place.by_node_ports();
  CHECK(mentions(path.problem, "TCP/443"));
  CHECK(path.targets.at(kTcp80).size() == 3);
  CHECK(path.targets.at({Protocol::Tcp, 443}).empty());
}

TEST_CASE("which way is chosen") {
  enum class Trouble { None, NoNodePorts, LostEndpoint, AllExcluded, Both };
  struct Case {
    const char* name;
    Datapath wanted;
    bool blocked;
    Trouble trouble;
    bool want_direct;
  };
  const Case cases[] = {
      {"auto", Datapath::Auto, false, Trouble::None, true},
      {"auto, direct blocked", Datapath::Auto, true, Trouble::None, false},
      {"auto, blocked, no node ports", Datapath::Auto, true, Trouble::NoNodePorts, true},
      {"auto, blocked, nodes excluded", Datapath::Auto, true, Trouble::AllExcluded, true},
      {"auto, an endpoint without a way", Datapath::Auto, false, Trouble::LostEndpoint, false},
      {"auto, neither way", Datapath::Auto, false, Trouble::Both, true},
      {"auto, nodes excluded", Datapath::Auto, false, Trouble::AllExcluded, true},
      {"direct", Datapath::Direct, false, Trouble::None, true},
      {"direct, blocked", Datapath::Direct, true, Trouble::None, true},
      {"direct, an endpoint without a way", Datapath::Direct, false, Trouble::LostEndpoint, true},
      {"nodeport", Datapath::NodePort, false, Trouble::None, false},
      {"nodeport, nodes excluded", Datapath::NodePort, false, Trouble::AllExcluded, false},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      Place place;
      if (c.trouble == Trouble::NoNodePorts)
        place.service = a_service().with_port(80).without_node_ports();
      if (c.trouble == Trouble::LostEndpoint || c.trouble == Trouble::Both)
        place.slices[0].endpoints[0].node = "lost";
      if (c.trouble == Trouble::AllExcluded || c.trouble == Trouble::Both)
        for (auto& [name, node] : place.nodes) node.excluded = true;
      CHECK(place.chosen(c.wanted, c.blocked).direct == c.want_direct);
    }
  }
}
