#include "kindlb/protocol/protocol.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace kindlb;
using namespace kindlb::protocol;

namespace {

core::Cidr cidr(const char* text) {
  return core::Cidr::parse(text).value();
}
core::IpAddress ip(const char* text) {
  return core::IpAddress::parse(text).value();
}

Unit a_unit() {
  return {.unit = "uid-1",
          .owner = "kind/default/web",
          .revision = "r1",
          .addresses = {cidr("172.18.255.254/16"), cidr("fc00::fe/64")},
          .routes = {{cidr("10.244.1.2/32"), ip("172.18.0.3")}},
          .listeners = {{"l1", R"({"@type":"x","name":"l1"})"}},
          .clusters = {{"c1", "{}"}},
          .assignments = {{"c1", "eds-c1.json", "{\"a\":\"\\n\"}"}},
          .udp_rules = {{.at = {*core::IpAddress::parse("fc00::1"), 53},
                         .restricted = true,
                         .allowed = {*core::Cidr::parse("fc00::/7")},
                         .divert = 32821,
                         .listener = "l1~sticky",
                         .cluster = "c1~sticky"}},
          .listeners_behind_rules = {{"l1~sticky", "{}"}}};
}

UnitState a_state() {
  return {.unit = "uid-1",
          .owner = "kind/default/web",
          .revision = "r1",
          .acknowledged = true,
          .addresses = {cidr("172.18.255.254/16")}};
}

/// Encodes, checks that it is one line, and reads the line again.
template <typename T>
T round_trip(const T& message) {
  const auto line = encode(message);
  REQUIRE(line.back() == '\n');
  REQUIRE(line.find('\n') == line.size() - 1);
  std::string why;
  const auto back = decode(line, &why);
  CAPTURE(why);
  REQUIRE(back.has_value());
  REQUIRE(std::holds_alternative<T>(*back));
  return std::get<T>(*back);
}

std::string reason_for(std::string_view line) {
  std::string why;
  CHECK_FALSE(decode(line, &why).has_value());
  return why;
}

}  // namespace

TEST_CASE("hello survives the wire") {
  const auto back = round_trip(Hello{.agent = "0.1.0",
                                     .envoy = EnvoyState::Live,
                                     .units = {a_state()},
                                     .heartbeat = std::chrono::milliseconds(2000),
                                     .network_problem = "no interface"});
  CHECK(back.protocol == kProtocolVersion);
  CHECK(back.agent == "0.1.0");
  CHECK(back.envoy == EnvoyState::Live);
  CHECK(back.units == std::vector{a_state()});
  CHECK(back.heartbeat.count() == 2000);
  CHECK(back.network_problem == "no interface");
}

TEST_CASE("an agent that announces no heartbeat sends none") {
  const auto old = decode(R"({"type":"hello","protocol":1,"agent":"0","envoy":"live","units":[]})");
  REQUIRE(old.has_value());
  CHECK(std::get<Hello>(*old).heartbeat.count() == 0);
}

TEST_CASE("heartbeat survives the wire") {
  CHECK(encode(Heartbeat{}) == "{\"type\":\"heartbeat\"}\n");
  round_trip(Heartbeat{});
}

TEST_CASE("prepare survives the wire") {
  const auto back = round_trip(Prepare{.id = 7, .addresses = {cidr("172.18.255.254/16")}});
  CHECK(back.id == 7);
  CHECK(back.addresses == std::vector{cidr("172.18.255.254/16")});
}

TEST_CASE("apply survives the wire") {
  const core::Probe probe{.label = "TCP/80",
                          .targets = {{ip("10.244.1.2"), 80}, {ip("fd00::2"), 65535}},
                          .any_answer = true};
  const auto back = round_trip(Apply{.id = ~std::uint64_t{0},
                                     .unit = a_unit(),
                                     .probes = {probe},
                                     .probe_timeout = std::chrono::milliseconds(1234)});
  CHECK(back.id == ~std::uint64_t{0});
  CHECK(back.unit == a_unit());
  CHECK(back.probes == std::vector{probe});
  CHECK(back.probe_timeout.count() == 1234);
}

TEST_CASE("release, applied, rejected, status and bye survive the wire") {
  const auto release = round_trip(Release{.id = 3, .unit = "uid-1"});
  CHECK(release.id == 3);
  CHECK(release.unit == "uid-1");

  const std::vector<ProbeOutcome> outcomes{{"TCP/80", ProbeResult::Reached, ""},
                                           {"TCP/81", ProbeResult::Refused, "10.0.0.1:81: refused"},
                                           {"TCP/82", ProbeResult::Unreachable, "no route"}};
  const auto applied =
      round_trip(Applied{.id = 4, .unit = "u", .revision = "r", .probes = outcomes});
  CHECK(applied.id == 4);
  CHECK(applied.unit == "u");
  CHECK(applied.revision == "r");
  CHECK(applied.probes == outcomes);

  const auto status = round_trip(
      Status{.envoy = EnvoyState::Down, .restarts = 2, .text = "killed", .units = {a_state()}});
  CHECK(status.envoy == EnvoyState::Down);
  CHECK(status.restarts == 2);
  CHECK(status.text == "killed");
  CHECK(status.units == std::vector{a_state()});

  CHECK(round_trip(Bye{.reason = "SIGTERM"}).reason == "SIGTERM");
}

TEST_CASE("every stage of a rejection survives the wire") {
  for (const auto stage :
       {RejectStage::Invalid, RejectStage::Address, RejectStage::Route, RejectStage::Filter,
        RejectStage::Envoy, RejectStage::Down, RejectStage::Superseded}) {
    const auto back = round_trip(Rejected{5, "u", "r", stage, "cannot bind '10.0.0.1:80'\nno"});
    CHECK(back.id == 5);
    CHECK(back.unit == "u");
    CHECK(back.revision == "r");
    CHECK(back.stage == stage);
    CHECK(back.text == "cannot bind '10.0.0.1:80'\nno");
  }
}

TEST_CASE("the state file survives") {
  const auto back = decode_state(encode_state({"0.1.0", EnvoyState::Live, {a_state()}}));
  REQUIRE(back.has_value());
  CHECK(back->agent == "0.1.0");
  CHECK(back->envoy == EnvoyState::Live);
  CHECK(back->units == std::vector{a_state()});
  for (const char* text :
       {"", "{}", "[]", R"({"agent":1,"envoy":"live","units":[]})", "{\"agent\""})
    CHECK_FALSE(decode_state(text).has_value());
}

TEST_CASE("unknown fields are ignored, optional ones keep their default") {
  const auto bare = decode(
      R"({"type":"apply","id":1,"new":[{}],"unit":{"unit":"u","owner":"o","revision":"r","x":null},)"
      R"("probes":[{"label":"TCP/80","targets":[]}]})");
  REQUIRE(bare.has_value());
  const auto& apply = std::get<Apply>(*bare);
  CHECK(apply.unit.unit == "u");
  CHECK(apply.unit.addresses.empty());
  REQUIRE(apply.probes.size() == 1);
  CHECK_FALSE(apply.probes[0].any_answer);
  CHECK(apply.probe_timeout.count() == 3000);
}

TEST_CASE("lines that are no message are refused with a reason") {
  struct Case {
    const char* name;
    const char* line;
    const char* why;
  };
  const Case cases[] = {
      {"empty", "", "not a JSON object"},
      {"not JSON", "hello", "not a JSON object"},
      {"cut short", R"({"type":"bye")", "not a JSON object"},
      {"two values", "{} {}", "not a JSON object"},
      {"a list", "[]", "not a JSON object"},
      {"number beyond a double", R"({"type":"bye","x":1e999})", "not a JSON object"},
      {"not UTF-8", "{\"type\":\"\xff\"}", "not a JSON object"},
      {"no type", "{}", "unknown type "},
      {"type is a number", R"({"type":1})", "unknown type "},
      {"unknown type", R"({"type":"dance"})", "unknown type dance"},
      {"missing id", R"({"type":"release","unit":"u"})", "release: id: missing"},
      {"id is text", R"({"type":"release","id":"1","unit":"u"})", "release: id: expected a number"},
      {"negative id", R"({"type":"release","id":-1,"unit":"u"})", "release: id: expected a number"},
      {"fraction", R"({"type":"release","id":1.5,"unit":"u"})", "release: id: expected a number"},
      {"id too large", R"({"type":"release","id":18446744073709551616,"unit":"u"})",
       "release: id: expected a number"},
      {"unit is null", R"({"type":"release","id":1,"unit":null})", "release: unit: expected text"},
      {"unit is text", R"({"type":"apply","id":1,"unit":"u"})", "apply: unit: expected an object"},
      {"restarts too large", R"({"type":"status","envoy":"live","restarts":4294967296,"units":[]})",
       "status: restarts: expected a smaller number"},
      {"unknown word", R"({"type":"status","envoy":"happy","units":[]})",
       "status: envoy: expected one of the known words"},
      {"list expected", R"({"type":"prepare","id":1,"addresses":"10.0.0.1/8"})",
       "prepare: addresses: expected a list"},
      {"bad prefix", R"({"type":"prepare","id":1,"addresses":["10.0.0.1/8","10.0.0.1"]})",
       "prepare: addresses: item 1: expected an address with its prefix length"},
      {"not a boolean",
       R"({"type":"status","envoy":"live","units":[{"unit":"u","owner":"o","revision":"r","acknowledged":1}]})",
       "status: units: item 0: acknowledged: expected true or false"},
      {"bad port",
       R"({"type":"apply","id":1,"unit":{"unit":"u","owner":"o","revision":"r"},
           "probes":[{"label":"x","targets":[{"address":"10.0.0.1","port":65536}]}]})",
       "apply: probes: item 0: targets: item 0: port: expected a smaller number"},
      {"bad address",
       R"({"type":"apply","id":1,"unit":{"unit":"u","owner":"o","revision":"r",
           "routes":[{"to":"10.0.0.0/24","via":"node"}]}})",
       "apply: unit: routes: item 0: via: expected an IP address"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      CHECK(reason_for(c.line) == c.why);
    }
  }
}

TEST_CASE("hostile lines are refused without being built in memory") {
  const std::size_t many = 2'000'000;
  CHECK(reason_for(std::string(many, '[')) == "not a JSON object");
  CHECK(reason_for(R"({"type":"bye","x":)" + std::string(100, '[') + std::string(100, ']') + "}") ==
        "not a JSON object");
  std::string wide = R"({"type":"bye","x":[0)";
  for (std::size_t i = 0; i < many; ++i) wide += ",0";
  CHECK(reason_for(wide + "]}") == "not a JSON object");
  CHECK(reason_for(std::string(kMaxLine + 1, ' ')).starts_with("longer than"));
  // Brackets inside text are only text.
  const auto bye =
      decode(R"({"type":"bye","reason":"\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["})");
  REQUIRE(bye.has_value());
  CHECK(std::get<Bye>(*bye).reason.size() == 46);
}

TEST_CASE("every prefix of a message is refused, none crashes") {
  const auto line = encode(Apply{.id = 1, .unit = a_unit(), .probes = {}});
  for (std::size_t size = 0; size + 1 < line.size(); ++size)
    CHECK_FALSE(decode(std::string_view(line).substr(0, size)).has_value());
}

TEST_CASE("bytes that are not UTF-8 are replaced when written") {
  CHECK(round_trip(Bye{.reason = "a\xff"
                                 "b"})
            .reason ==
        "a\xEF\xBF\xBD"
        "b");
}

TEST_CASE("a state travels as the target of a link, also a resolved one") {
  const protocol::AgentState state{
      "0.1.0",
      protocol::EnvoyState::Live,
      {{"uid-1", "kind/default/web", "a.b", true, {*core::Cidr::parse("172.18.255.254/16")}}}};
  const auto target = protocol::encode_summary(state);
  REQUIRE(target.has_value());
  for (const auto& text : {*target, "/var/lib/kindlb/" + *target}) {
    CAPTURE(text);
    const auto back = protocol::decode_summary(text);
    REQUIRE(back.has_value());
    CHECK(back->envoy == state.envoy);
    CHECK(back->units == state.units);
  }
  for (std::size_t start = 0, slash = 0; slash != std::string::npos; start = slash + 1) {
    slash = target->find('/', start);
    CHECK(std::min(slash, target->size()) - start <= 255);
  }
}

TEST_CASE("a state too large for a link has no summary, and nonsense is no state") {
  protocol::AgentState large;
  large.units.resize(200, {"a-unit-of-some-length", "kind/default/web", "a.b", true, {}});
  CHECK_FALSE(protocol::encode_summary(large).has_value());
  for (const char* text : {"", "s/", "/s/", "s/zz", "s/7b", "/etc/passwd", "s/7b7"})
    CHECK_FALSE(protocol::decode_summary(text).has_value());
}

TEST_CASE("the id of a refused message is found only when an answer is expected") {
  CHECK(refused_id(R"({"type":"apply","id":9})") == 9);
  CHECK_FALSE(refused_id(R"({"type":"dance","id":9})").has_value());
  CHECK_FALSE(refused_id(R"({"type":"apply","id":"9"})").has_value());
  CHECK_FALSE(refused_id(R"({"type":"apply"})").has_value());
  CHECK_FALSE(refused_id("nonsense").has_value());
}

TEST_CASE("an owner text names its Service and its cluster") {
  const core::ServiceKey key{"kind", "default", "web"};
  CHECK(parse_owner(key.text()) == key);
  CHECK(cluster_of(key.text()) == "kind");
  CHECK_FALSE(parse_owner("kind/web").has_value());
  CHECK_FALSE(parse_owner("").has_value());
}
