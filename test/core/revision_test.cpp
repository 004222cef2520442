// The names of configurations: what clients can see is the shape, the rest the flow.
#include "kindlb/core/plan.hpp"
#include "support/builders.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>

#include <functional>

using namespace kindlb::core;
using kindlb::test::cidr;
using kindlb::test::ip;
using kindlb::test::target;

namespace {

ProxyConfig a_config() {
  return {.unit = "uid-web",
          .owner = {"kind", "default", "web"},
          .addresses = {cidr("172.18.255.254/16")},
          .routes = {{Cidr::host(ip("10.244.0.5")), ip("172.18.0.2")}},
          .listeners = {{.name = "l", .address = ip("172.18.255.254"), .port = 80, .backend = "b"}},
          .backends = {{.name = "b", .targets = {target("10.244.0.5", 8080)}}}};
}

struct Edit {
  const char* name;
  std::function<void(ProxyConfig&)> make;
};

Revision after(const Edit& edit) {
  auto config = a_config();
  edit.make(config);
  return revision_of(config);
}

}  // namespace

TEST_CASE("what clients can see changes the shape") {
  const Edit edits[] = {
      {"unit", [](ProxyConfig& c) { c.unit = "uid-other"; }},
      {"address", [](ProxyConfig& c) { c.addresses[0] = cidr("172.18.255.253/16"); }},
      {"prefix length", [](ProxyConfig& c) { c.addresses[0] = cidr("172.18.255.254/24"); }},
      {"listener address", [](ProxyConfig& c) { c.listeners[0].address = ip("172.18.0.9"); }},
      {"listener port", [](ProxyConfig& c) { c.listeners[0].port = 81; }},
      {"protocol", [](ProxyConfig& c) { c.listeners[0].protocol = Protocol::Udp; }},
      {"one more listener", [](ProxyConfig& c) { c.listeners.push_back(c.listeners[0]); }},
      {"restricted", [](ProxyConfig& c) { c.listeners[0].restricted = true; }},
      {"who is allowed",
       [](ProxyConfig& c) { c.listeners[0].allowed.push_back(cidr("10.0.0.0/8")); }},
      {"affinity", [](ProxyConfig& c) { c.backends[0].affinity = Affinity::ClientIp; }},
  };
  for (const auto& edit : edits) {
    SUBCASE(edit.name) {
      CHECK(after(edit).shape != revision_of(a_config()).shape);
    }
  }
}

TEST_CASE("targets and routes change the flow only") {
  const Edit edits[] = {
      {"a target added",
       [](ProxyConfig& c) { c.backends[0].targets.push_back(target("10.244.0.6", 8080)); }},
      {"a target removed", [](ProxyConfig& c) { c.backends[0].targets.clear(); }},
      {"a target's port", [](ProxyConfig& c) { c.backends[0].targets[0].port = 8081; }},
      {"a route removed", [](ProxyConfig& c) { c.routes.clear(); }},
      {"a route's way", [](ProxyConfig& c) { c.routes[0].via = ip("172.18.0.3"); }},
  };
  for (const auto& edit : edits) {
    SUBCASE(edit.name) {
      CHECK(after(edit).shape == revision_of(a_config()).shape);
      CHECK(after(edit).flow != revision_of(a_config()).flow);
    }
  }
}

TEST_CASE("the same content has the same name") {
  CHECK(revision_of(a_config()) == revision_of(a_config()));
}

TEST_CASE("the path is part of the revision, and neither of the shape nor of the flow") {
  const auto direct = revision_of(a_config());
  const auto node_ports = after({"the path", [](ProxyConfig& c) { c.direct = false; }});
  CHECK(direct.path == PathKind::Direct);
  CHECK(node_ports.path == PathKind::NodePorts);
  CHECK(node_ports != direct);
  CHECK(node_ports.text() != direct.text());
  CHECK(node_ports.shape == direct.shape);
  CHECK(node_ports.flow == direct.flow);
}

TEST_CASE("a revision tells which path it takes") {
  CHECK_FALSE(revision_of(a_config()).through_node_ports());
  auto config = a_config();
  config.direct = false;
  CHECK(revision_of(config).through_node_ports());
  CHECK_FALSE(Revision{}.through_node_ports());
}

TEST_CASE("a revision survives being written down") {
  const auto revision = revision_of(a_config());
  CHECK(Revision::parse(revision.text()) == revision);
  CHECK(Revision::parse("") == Revision{});
  CHECK(Revision{}.text().empty());
  CHECK(Revision{}.empty());
  CHECK_FALSE(revision.empty());
}

TEST_CASE("what agents of any version hold is read, and written as it was") {
  struct Row {
    const char* text;
    Revision meaning;
  };
  const Row rows[] = {
      {"03a1f2.dbead04", {"03a1f2", PathKind::Direct, "bead04"}},
      {"03a1f2.nbead04", {"03a1f2", PathKind::NodePorts, "bead04"}},
      {"03a1f2.dd04", {"03a1f2", PathKind::Direct, "d04"}},
      {"s.d", {"s", PathKind::Direct, ""}},
      {"s.n", {"s", PathKind::NodePorts, ""}},
      {"s.bead04", {"s", PathKind::Unknown, "bead04"}},
      {"s.", {"s", PathKind::Unknown, ""}},
      {"s.d.x", {"s", PathKind::Direct, ".x"}},
  };
  for (const auto& row : rows) {
    CAPTURE(row.text);
    CHECK(Revision::parse(row.text) == row.meaning);
    CHECK(Revision::parse(row.text).text() == row.text);
  }
}

TEST_CASE("the text of a known configuration stays the same, so that an upgrade adopts it") {
  auto config = a_config();
  CHECK(revision_of(config).text() == "190f13612e621a0b.deffdbb6bdeb72a29");
  config.direct = false;
  CHECK(revision_of(config).text() == "190f13612e621a0b.neffdbb6bdeb72a29");
}

TEST_CASE("what is not a revision parses as none") {
  for (const char* text : {"no-dot", " ", "x"}) {
    CAPTURE(text);
    CHECK(Revision::parse(text).empty());
  }
  CHECK(Revision::parse(".flow").empty());
}
