#include "envoy/xds.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace kindlb;
using namespace kindlb::agent;

namespace {

protocol::Unit a_unit(const std::string& name) {
  protocol::Unit out;
  out.unit = name;
  out.owner = "kind/default/" + name;
  out.listeners = {{name + "/l", R"({"@type":"L","name":")" + name + R"(/l"})"}};
  out.clusters = {{name + "/c", R"({"@type":"C","name":")" + name + R"(/c"})"}};
  out.assignments = {
      {name + "/c", name + ".json", R"({"@type":"E","cluster_name":")" + name + R"(/c"})"}};
  return out;
}

XdsSnapshot content_of(const std::vector<protocol::Unit>& units) {
  XdsSnapshot out;
  std::string conflict;
  for (const auto& unit : units) REQUIRE(add_unit(out, unit, conflict));
  return out;
}

XdsSnapshot listener(const std::string& body) {
  XdsSnapshot out;
  out.listeners["x"] = body;
  return out;
}

}  // namespace

TEST_CASE("files hold every unit's resources in the order of their names") {
  XdsHistory history;
  history.record(content_of({a_unit("u2"), a_unit("u1")}), 5);
  const auto files = changed_files(history);
  REQUIRE(files.size() == 4);
  CHECK(files[0].name == "eds/u1.json");
  CHECK(files[1].name == "eds/u2.json");
  CHECK(files[2].name == "cds.json");
  CHECK(files[3].name == "lds.json");
  CHECK(files[3].text ==
        "{\"version_info\":\"5\",\"resources\":[\n"
        "{\"@type\":\"L\",\"name\":\"u1/l\"},\n{\"@type\":\"L\",\"name\":\"u2/l\"}\n]}\n");
  CHECK(
      files[0].text ==
      "{\"version_info\":\"5\",\"resources\":[\n{\"@type\":\"E\",\"cluster_name\":\"u1/c\"}\n]}\n");
  XdsHistory other;
  other.record(content_of({a_unit("u1"), a_unit("u2")}), 5);
  CHECK(changed_files(other) == files);
}

TEST_CASE("address and port of a UDP listener") {
  const auto listener = [](const std::string& socket) {
    return R"({"address":{"socket_address":)" + socket + "}}";
  };
  const auto place =
      udp_socket_of(listener(R"({"protocol":"UDP","address":"10.0.0.1","port_value":53})"));
  REQUIRE(place);
  CHECK(place->text() == "10.0.0.1:53");
  for (const auto& other :
       {listener(R"({"address":"10.0.0.1","port_value":53})"), listener("[]"), listener("7"),
        listener(R"({"protocol":"UDP","address":"x","port_value":53})"),
        listener(R"({"protocol":"UDP","address":7,"port_value":53})"),
        listener(R"({"protocol":"UDP","address":"10.0.0.1","port_value":"53"})"),
        listener(R"({"protocol":"UDP","address":"10.0.0.1"})"), std::string("{}"),
        std::string("[]"), std::string(R"({"address":null})"), std::string("{")}) {
    CAPTURE(other);
    CHECK_FALSE(udp_socket_of(other));
  }
}

TEST_CASE("only changed files are written") {
  auto unit = a_unit("u1");
  XdsHistory history;
  history.record(content_of({unit, a_unit("u2")}), 1);
  const auto names = [&] {
    std::vector<std::string> out;
    for (const auto& file : changed_files(history)) out.push_back(file.name);
    return out;
  };
  using Names = std::vector<std::string>;
  unit.assignments[0].body = "other";
  history.record(content_of({unit, a_unit("u2")}), 2);
  CHECK(names() == Names{"eds/u1.json"});
  unit.listeners[0].body = "other";
  history.record(content_of({unit, a_unit("u2")}), 3);
  CHECK(names() == Names{"lds.json"});
  unit.clusters[0].body = "other";
  history.record(content_of({unit, a_unit("u2")}), 4);
  CHECK(names() == Names{"cds.json"});
  history.record(content_of({unit}), 5);
  CHECK(names() == Names{"cds.json", "lds.json"});
  history.record(content_of({unit}), 6);
  CHECK(names().empty());
  CHECK(history.listeners_version() == 5);
  CHECK(history.clusters_version() == 5);
}

TEST_CASE("a later version of something unchanged is as good") {
  CHECK(has_reached("3", 3));
  CHECK(has_reached("4", 3));
  CHECK_FALSE(has_reached("2", 3));
  CHECK_FALSE(has_reached("", 3));
  CHECK_FALSE(has_reached("x3", 3));
}

TEST_CASE("no units give files Envoy can start with") {
  XdsHistory history;
  history.record({}, 1);
  const auto files = changed_files(history);
  REQUIRE(files.size() == 2);
  CHECK(files[0] == XdsFile{"cds.json", "{\"version_info\":\"1\",\"resources\":[\n]}\n"});
  CHECK(files[1] == XdsFile{"lds.json", files[0].text});
}

TEST_CASE("an endpoint file keeps its version until it changes") {
  auto unit = a_unit("u1");
  XdsHistory history;
  history.record(content_of({unit}), 2);
  history.record(content_of({unit, a_unit("u2")}), 3);
  CHECK(history.endpoints_version("u1.json") == 2);
  CHECK(history.endpoints_version("u2.json") == 3);
  unit.assignments[0].body = "other";
  history.record(content_of({unit}), 4);
  CHECK(history.endpoints_version("u1.json") == 4);
  CHECK(history.endpoints_version("u2.json") == 0);
}

TEST_CASE("a version is current if it had the content of now") {
  XdsHistory history;
  history.record(listener("one"), 2);
  history.record(listener("two"), 4);
  CHECK(history.is_listener_current("x", "4"));
  CHECK_FALSE(history.is_listener_current("x", "3"));
  history.record(listener("one"), 6);  // Envoy refused "two" and never left version 2
  CHECK(history.is_listener_current("x", "2"));
  CHECK(history.is_listener_current("x", "3"));
  CHECK_FALSE(history.is_listener_current("x", "5"));
  CHECK(history.is_listener_current("x", "6"));
  CHECK(history.is_listener_current("x", "9"));
}

TEST_CASE("removal counts: a version in which there was nothing is not current") {
  XdsHistory history;
  history.record(listener("one"), 2);
  history.record({}, 3);
  CHECK_FALSE(history.is_listener_current("x", "2"));
  history.record(listener("one"), 4);
  CHECK(history.is_listener_current("x", "2"));
  CHECK_FALSE(history.is_listener_current("x", "3"));
  CHECK_FALSE(history.is_cluster_current("x", "4"));
}

TEST_CASE("versions that are not numbers are never current") {
  XdsHistory history;
  history.record(listener("one"), 2);
  for (const char* version : {"", "1", "-1", "2x", " 2", "99999999999999999999999"}) {
    CAPTURE(version);
    CHECK_FALSE(history.is_listener_current("x", version));
  }
  CHECK_FALSE(history.is_listener_current("y", "2"));
}

TEST_CASE("the memory is bounded") {
  XdsHistory history;
  for (XdsVersion i = 1; i <= 1000; ++i) history.record(listener(std::to_string(i)), i);
  CHECK(history.is_listener_current("x", "1000"));
  CHECK_FALSE(history.is_listener_current("x", "1"));
}

TEST_CASE("names of different units must differ") {
  auto snapshot = content_of({a_unit("u1")});
  struct Case {
    const char* name;
    protocol::Unit unit;
    const char* conflict;
  };
  auto same_listener = a_unit("u2");
  same_listener.listeners[0].name = "u1/l";
  auto same_cluster = a_unit("u2");
  same_cluster.clusters[0].name = "u1/c";
  auto same_file = a_unit("u2");
  same_file.assignments[0].file = "u1.json";
  for (const auto& c :
       {Case{"listener", same_listener, "listener u1/l"},
        Case{"cluster", same_cluster, "cluster u1/c"}, Case{"file", same_file, "file u1.json"}}) {
    SUBCASE(c.name) {
      std::string conflict;
      CHECK_FALSE(add_unit(snapshot, c.unit, conflict));
      CHECK(conflict == c.conflict);
    }
  }
}

TEST_CASE("invalid units are rejected") {
  CHECK(invalid_reason(a_unit("u1")).empty());
  struct Case {
    const char* name;
    void (*spoil)(protocol::Unit&);
    const char* reason;
  };
  const Case cases[] = {
      {"no name", [](protocol::Unit& u) { u.unit.clear(); },
       "the unit's name is empty or longer than 80 bytes"},
      {"long name", [](protocol::Unit& u) { u.unit.assign(81, 'x'); },
       "the unit's name is empty or longer than 80 bytes"},
      {"not JSON", [](protocol::Unit& u) { u.listeners[0].body = "{"; },
       "listener u1/l is not a JSON object"},
      {"two objects", [](protocol::Unit& u) { u.listeners[0].body += "," + u.listeners[0].body; },
       "listener u1/l is not a JSON object"},
      {"no type", [](protocol::Unit& u) { u.clusters[0].body = R"({"name":"u1/c"})"; },
       "cluster u1/c has no @type"},
      {"other name", [](protocol::Unit& u) { u.clusters[0].name = "u9"; },
       "cluster u9 has another name"},
      {"other cluster", [](protocol::Unit& u) { u.assignments[0].cluster = "u9"; },
       "assignment u9 has another cluster_name"},
      {"twice", [](protocol::Unit& u) { u.listeners.push_back(u.listeners[0]); },
       "listener u1/l is defined twice"},
      {"file twice", [](protocol::Unit& u) { u.assignments.push_back(u.assignments[0]); },
       "file u1.json is used twice"},
      {"file outside", [](protocol::Unit& u) { u.assignments[0].file = "../state.json"; },
       "assignment u1/c has an invalid file name"},
      {"hidden file", [](protocol::Unit& u) { u.assignments[0].file = ".."; },
       "assignment u1/c has an invalid file name"},
      {"mixed families",
       [](protocol::Unit& u) {
         u.routes = {{*core::Cidr::parse("10.0.0.0/8"), *core::IpAddress::parse("fc00::1")}};
       },
       "route 10.0.0.0/8 has a gateway of the other IP family"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      auto unit = a_unit("u1");
      c.spoil(unit);
      CHECK(invalid_reason(unit) == c.reason);
    }
  }
}
