#include "envoy/admin.hpp"

#include "files.hpp"
#include "support/paths.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace kindlb;
using namespace kindlb::agent;
using Kind = AckStatus::Kind;

namespace {

std::string fixture(const std::string& name) {
  const auto text = read_file(test::source_dir() + "/test/agent/fixtures/" + name, 1 << 20);
  REQUIRE(text.ok());
  return *text;
}

AdminStats stats(const std::string& name) {
  return parse_stats(fixture(name + ".stats.txt"));
}

AdminDump dump(const std::string& name) {
  AdminDump out;
  REQUIRE(parse_listeners(fixture(name + ".listeners.json"), out));
  REQUIRE(parse_clusters(fixture(name + ".clusters.json"), false, out));
  return out;
}

/// The two units of the recording; bodies only have to differ where they differed there.
protocol::Unit unit(const std::string& name, const std::string& listener,
                    const std::string& cluster, const std::string& endpoints) {
  protocol::Unit out;
  out.unit = name;
  out.listeners = {{name, listener}};
  out.clusters = {{name, cluster}};
  out.assignments = {{name, name.substr(0, 1) + ".json", endpoints}};
  return out;
}

struct Recording {
  XdsHistory history;
  protocol::Unit a;
  protocol::Unit b;

  void next(const protocol::Unit& new_a, const protocol::Unit& new_b) {
    a = new_a;
    b = new_b;
    XdsSnapshot snapshot;
    std::string clash;
    REQUIRE(add_unit(snapshot, a, clash));
    REQUIRE(add_unit(snapshot, b, clash));
    history.record(snapshot, history.version() + 1);
  }
};

/// The generations of the recording up to `last`.
Recording recorded(XdsVersion last) {
  Recording out;
  out.history.record({}, 1);
  const auto play = [&](XdsVersion number, const protocol::Unit& a, const protocol::Unit& b) {
    if (number <= last) out.next(a, b);
  };
  play(2, unit("a/tcp", "8080", "c", "e"), unit("b:tcp", "8081", "c", "e"));
  play(3, unit("a/tcp", "8082", "c", "e"), unit("b:tcp", "unbindable", "c", "e"));
  play(4, unit("a/tcp", "8082", "c", "e"), unit("b:tcp", "8081", "c", "e"));
  play(5, unit("a/tcp", "8082", "random", "e"), unit("b:tcp", "8081", "provided", "e"));
  play(6, unit("a/tcp", "8082", "random", "e"), unit("b:tcp", "8081", "c", "not an ip"));
  play(7, unit("a/tcp", "8080", "random", "e"), unit("b:tcp", "unknown", "c", "not an ip"));
  return out;
}

}  // namespace

TEST_CASE("stats are read by name") {
  const auto seen = stats("bind-refused");
  CHECK(seen.live);
  CHECK(seen.lds == SubscriptionStats{"2", 2, 1});
  CHECK(seen.cds == SubscriptionStats{"3", 3, 0});
  CHECK(seen.warming_listeners == 0);
  CHECK(seen.eds.at("a/tcp") == SubscriptionStats{"2", 2, 0});
  CHECK(seen.eds.at(stat_name("b:tcp")).version == "2");
}

TEST_CASE("malformed stats are ignored") {
  const auto seen = parse_stats(
      "\n: \nserver.state\nserver.state: 2\nlistener_manager.lds.update_success: x\n"
      "cluster_manager.cds.version_text: \"\ncluster.version_text: \"1\"\nnodot: 1");
  CHECK_FALSE(seen.live);
  CHECK(seen.lds == SubscriptionStats{});
  CHECK(seen.cds == SubscriptionStats{});
}

TEST_CASE("dumps are read by name, malformed ones rejected") {
  const auto seen = dump("bind-refused");
  CHECK(seen.listeners.size() == 2);
  CHECK(seen.listeners.at("a/tcp") == DumpedResource{"3", "", ""});
  CHECK(seen.listeners.at("b:tcp").active == "2");
  CHECK(seen.listeners.at("b:tcp").error ==
        "cannot bind '10.9.9.9:8081': Cannot assign requested address");
  CHECK(seen.clusters.at("b:tcp") == DumpedResource{"2", "", ""});
  AdminDump none;
  CHECK(parse_listeners("{}", none));
  for (const char* text : {"", "[]", "{", R"({"configs":{}})", "null"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_listeners(text, none));
  }
  CHECK(
      parse_listeners(R"({"configs":[1,null,{"name":{}},{"name":"x","active_state":[]}]})", none));
  CHECK(none.listeners.at("x") == DumpedResource{});
}

TEST_CASE("ACK and NACK from recordings of the real Envoy") {
  struct Case {
    const char* name;
    const char* before;
    XdsVersion generation;
    AckStatus a;
    AckStatus b;
  };
  const Case cases[] = {
      {"accepted", "empty", 2, {Kind::Acked, ""}, {Kind::Acked, ""}},
      {"bind-refused",
       "accepted",
       3,
       {Kind::Acked, ""},
       {Kind::Nacked, "cannot bind '10.9.9.9:8081': Cannot assign requested address"}},
      {"restored", "bind-refused", 4, {Kind::Acked, ""}, {Kind::Acked, ""}},
      {"cluster-refused", "restored", 5, {Kind::Acked, ""}, {Kind::Nacked, ""}},
      {"endpoints-refused", "cluster-refused", 6, {Kind::Acked, ""}, {Kind::Nacked, ""}},
      {"file-refused", "endpoints-refused", 7, {Kind::Nacked, ""}, {Kind::Nacked, ""}},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const auto at = recorded(c.generation);
      CHECK(unit_status(at.a, stats(c.name), stats(c.before), dump(c.name), at.history) == c.a);
      CHECK(unit_status(at.b, stats(c.name), stats(c.before), dump(c.name), at.history) == c.b);
    }
  }
}

TEST_CASE("every unit is pending until Envoy has processed the version") {
  const auto at = recorded(3);
  CHECK_FALSE(is_processed(stats("accepted"), stats("accepted"), at.history));
  CHECK(unit_status(at.a, stats("accepted"), stats("accepted"), dump("accepted"), at.history) ==
        AckStatus{});
  CHECK(is_processed(stats("bind-refused"), stats("accepted"), at.history));
  // One of the two subscriptions is not enough.
  auto half = stats("bind-refused");
  half.lds = stats("accepted").lds;
  CHECK_FALSE(is_processed(half, stats("accepted"), at.history));
  auto starting = stats("bind-refused");
  starting.live = false;
  CHECK_FALSE(is_processed(starting, stats("accepted"), at.history));
}

TEST_CASE("warming is pending") {
  const auto at = recorded(2);
  auto now = stats("accepted");
  now.warming_clusters = 1;
  auto seen = dump("accepted");
  seen.clusters["a/tcp"] = {"", "2", ""};
  CHECK(unit_status(at.a, now, stats("empty"), seen, at.history).kind == Kind::Pending);
  CHECK(unit_status(at.b, now, stats("empty"), seen, at.history).kind == Kind::Acked);
}

TEST_CASE("endpoints wait for their own version") {
  const auto at = recorded(2);
  auto now = stats("accepted");
  now.eds["a/tcp"].version = "1";
  CHECK(unit_status(at.a, now, stats("empty"), {}, at.history).kind == Kind::Pending);
  now.eds.erase("a/tcp");
  CHECK(unit_status(at.a, now, stats("empty"), {}, at.history).kind == Kind::Pending);
  CHECK(unit_status(at.b, now, stats("empty"), {}, at.history).kind == Kind::Acked);
}

TEST_CASE("stats are asked for by name while the clusters are few") {
  const auto few = stats_path({unit("a/tcp", "l", "c", "e"), unit("b:tcp", "l", "c", "e")});
  CHECK(few.find("cluster%5C.a%5C%2Ftcp%7Ccluster%5C.b%5C%5Ftcp%29") != std::string::npos);
  std::vector<protocol::Unit> many;
  for (int i = 0; i < 13; ++i) many.push_back(unit("u" + std::to_string(i), "l", "c", "e"));
  CHECK(stats_path(many).find("u1") == std::string::npos);
  CHECK(stats_path(many).find("%7Ccluster%5C..%2B%29") != std::string::npos);
  CHECK(stats_path({}).find("cluster%5C.") == std::string::npos);
}

TEST_CASE("unchanged files need no new decision") {
  Recording record;
  record.history.record({}, 1);
  record.next(unit("a/tcp", "l", "c", "e"), unit("b:tcp", "l", "c", "e"));
  record.next(unit("a/tcp", "l", "c", "other"), unit("b:tcp", "l", "c", "e"));
  AdminStats now;
  now.live = true;
  now.lds = {"2", 1, 0};
  now.cds = {"2", 1, 0};
  CHECK(is_processed(now, now, record.history));
  now.eds["a/tcp"] = {"2", 1, 0};
  CHECK(unit_status(record.a, now, now, {}, record.history).kind == Kind::Pending);
  now.eds["a/tcp"] = {"3", 2, 0};
  CHECK(unit_status(record.a, now, now, {}, record.history).kind == Kind::Acked);
  // An old rejection must not keep later updates pending.
  now.cds = {"1", 1, 1};
  CHECK(is_processed(now, now, record.history));
  now.cds = {};
  CHECK_FALSE(is_processed(now, now, record.history));
}
