#include "envoy/envoy_log.hpp"

#include "files.hpp"
#include "support/paths.hpp"

#include <doctest/doctest.h>

using namespace kindlb;
using namespace kindlb::agent;

namespace {

protocol::Unit unit_b() {
  protocol::Unit out;
  out.listeners = {{"b:tcp", "{}"}};
  out.clusters = {{"b:tcp", "{}"}};
  return out;
}

/// Line `number` of the recorded log, from 1, with its newline.
std::string recorded_line(int number) {
  const auto text = read_file(test::source_dir() + "/test/agent/fixtures/envoy.log", 1 << 20);
  REQUIRE(text.ok());
  std::size_t begin = 0;
  for (int i = 1; i < number; ++i) begin = text->find('\n', begin) + 1;
  return text->substr(begin, text->find('\n', begin) + 1 - begin);
}

}  // namespace

TEST_CASE("the reason of a rejection is what the real Envoy logged") {
  struct Case {
    const char* name;
    std::vector<int> lines;
    const char* begins;
  };
  const Case cases[] = {
      {"nothing", {1}, ""},
      {"listener", {2, 3, 4}, "cannot bind '10.9.9.9:8081': Cannot assign requested address"},
      {"cluster", {6, 7}, "cluster manager: cluster provided LB specified but cluster 'b:tcp'"},
      {"endpoints", {8}, "malformed IP address: not-an-ip."},
      {"whole file", {9}, "Protobuf message (type envoy.service.discovery.v3.DiscoveryResponse"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      EnvoyLog log;
      for (const int line : c.lines) CHECK(log.feed(recorded_line(line)).size() == 1);
      const auto reason = log.reason_for(unit_b());
      CHECK(reason.substr(0, std::string(c.begins).size()) == c.begins);
      CHECK(reason.empty() == std::string(c.begins).empty());
      log.forget_rejections();
      CHECK(log.reason_for(unit_b()).empty());
    }
  }
}

TEST_CASE("another unit's rejection does not count") {
  EnvoyLog log;
  log.feed("envoy: [warning] lds: listener 'other' config rejected: no\n");
  CHECK(log.reason_for(unit_b()).empty());
}

TEST_CASE("lines are passed on whole, overlong ones dropped") {
  EnvoyLog log;
  CHECK(log.feed("one\ntw") == std::vector<std::string>{"one"});
  CHECK(log.feed("o\n") == std::vector<std::string>{"two"});
  log.feed(std::string(100'000, 'x'));
  CHECK(log.feed("after\n") == std::vector<std::string>{"after"});
}
