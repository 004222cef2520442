#include "kindlb/envoy/render.hpp"

#include "envoy/render_cases.hpp"
#include "support/golden.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <random>
#include <set>

namespace {

using namespace kindlb;
using kindlb::testing::golden_difference;
using kindlb::testing::golden_paths;
using nlohmann::json;

const testing::RenderCase& case_named(const std::string& name) {
  static const auto cases = testing::render_cases();
  return *std::ranges::find(cases, name, &testing::RenderCase::name);
}

envoy::Rendered render_case(const std::string& name) {
  return envoy::render(case_named(name).config, golden_paths());
}

json rules_of(const envoy::Rendered& rendered) {
  auto out = json::array();
  for (const auto& rule : rendered.udp_rules) {
    json entry = {{"at", rule.at.text()}, {"restricted", rule.restricted}};
    for (const auto& range : rule.allowed) entry["allowed"].push_back(range.text());
    if (rule.divert != 0)
      entry["divert"] = {
          {"port", rule.divert}, {"listener", rule.listener}, {"cluster", rule.cluster}};
    out.push_back(entry);
  }
  return out;
}

/// All of a rendering in one reviewable text.
std::string readable(const envoy::Rendered& rendered) {
  json out = {{"listeners", json::array()}, {"clusters", json::array()}, {"files", json::object()}};
  for (const auto& listener : rendered.listeners)
    out["listeners"].push_back(json::parse(listener.body));
  for (const auto& cluster : rendered.clusters)
    out["clusters"].push_back(json::parse(cluster.body));
  for (const auto& endpoints : rendered.endpoints)
    out["files"][endpoints.file] = json::parse(endpoints.body);
  for (const auto& listener : rendered.listeners_behind_rules)
    out["gated_listeners"].push_back(json::parse(listener.body));
  if (!rendered.udp_rules.empty()) out["gates"] = rules_of(rendered);
  return out.dump(2) + "\n";
}

template <typename T>
void shuffle(std::vector<T>& values, std::mt19937& random) {
  std::ranges::shuffle(values, random);
}

core::ProxyConfig permuted(core::ProxyConfig config, std::mt19937& random) {
  shuffle(config.listeners, random);
  shuffle(config.backends, random);
  for (auto& listener : config.listeners) shuffle(listener.allowed, random);
  for (auto& backend : config.backends) shuffle(backend.targets, random);
  return config;
}

bool is_safe_file_name(const std::string& name) {
  const std::string safe = "abcdefghijklmnopqrstuvwxyz0123456789-.";
  return !name.empty() && name.find_first_not_of(safe) == std::string::npos &&
         name.find("..") == std::string::npos;
}

}  // namespace

TEST_CASE("each named configuration renders to its golden") {
  for (const auto& c : testing::render_cases()) {
    SUBCASE(c.name.c_str()) {
      const auto text = readable(envoy::render(c.config, golden_paths()));
      CHECK(golden_difference(c.name + ".json", text) == "");
    }
  }
}

TEST_CASE("the bootstrap renders to its golden") {
  const auto text = json::parse(envoy::bootstrap("@kindlb-admin", golden_paths())).dump(2) + "\n";
  CHECK(golden_difference("bootstrap.json", text) == "");
}

TEST_CASE("the order of the input does not show in the bytes") {
  std::mt19937 random(1);
  for (const auto& c : testing::render_cases()) {
    SUBCASE(c.name.c_str()) {
      const auto want = envoy::render(c.config, golden_paths());
      for (int i = 0; i < 20; ++i)
        CHECK(envoy::render(permuted(c.config, random), golden_paths()) == want);
    }
  }
}

TEST_CASE("repeated targets and ranges are written once") {
  auto config = case_named("tcp_source_ranges").config;
  const auto want = envoy::render(config, golden_paths());
  auto& targets = config.backends[0].targets;
  auto& allowed = config.listeners[0].allowed;
  targets.push_back(targets[0]);
  allowed.push_back(allowed[0]);
  CHECK(envoy::render(config, golden_paths()) == want);
}

TEST_CASE("bodies are compact, one line each") {
  for (const auto& c : testing::render_cases()) {
    const auto rendered = envoy::render(c.config, golden_paths());
    for (const auto& listener : rendered.listeners) {
      CHECK(listener.body == json::parse(listener.body).dump());
      CHECK(listener.body.find('\n') == std::string::npos);
    }
  }
}

TEST_CASE("a hostile name stays a string") {
  const auto& config = case_named("hostile_names").config;
  const auto rendered = render_case("hostile_names");
  const auto listener = json::parse(rendered.listeners.at(0).body);
  const auto plain = json::parse(render_case("tcp_one_port").listeners.at(0).body);
  CHECK(listener["name"] == "${matcher}");
  CHECK(listener["filter_chain_matcher"] == plain["filter_chain_matcher"]);
  const auto& proxy = listener["filter_chains"][0]["filters"][0]["typed_config"];
  CHECK(proxy["cluster"] == config.backends[0].name);
  CHECK(json::parse(rendered.clusters.at(0).body)["name"] == config.backends[0].name);
  CHECK(is_safe_file_name(rendered.endpoints.at(0).file));
}

TEST_CASE("bytes that are not UTF-8 do not throw") {
  auto config = case_named("tcp_one_port").config;
  config.listeners[0].name = "\xff\xfe";
  const auto rendered = envoy::render(config, golden_paths());
  CHECK(json::parse(rendered.listeners.at(0).body)["name"] == "\uFFFD\uFFFD");
}

TEST_CASE("affinity changes the cluster and nothing else") {
  const auto plain = render_case("tcp_one_port");
  const auto sticky = render_case("tcp_affinity");
  CHECK(plain.listeners == sticky.listeners);
  CHECK(plain.endpoints == sticky.endpoints);
  CHECK(plain.clusters != sticky.clusters);
}

TEST_CASE("where the kernel filters, what UDP may be asked leaves Envoy's sessions alone") {
  const auto plain = render_case("udp_one_port");
  CHECK(plain.udp_rules.empty());
  CHECK(plain.listeners_behind_rules.empty());
  const auto same = [&](const auto& resource, const auto& resources) {
    return std::ranges::find(resources, resource) != resources.end();
  };
  auto config = case_named("udp_one_port").config;
  SUBCASE("affinity") {
    config.backends[0].affinity = core::Affinity::ClientIp;
  }
  SUBCASE("source ranges") {
    config.listeners[0].restricted = true;
    config.listeners[0].allowed = {*core::Cidr::parse("10.0.0.0/8")};
  }
  SUBCASE("both") {
    config.backends[0].affinity = core::Affinity::ClientIp;
    config.listeners[0].restricted = true;
  }
  const auto asked = envoy::render(config, golden_paths());
  CHECK(asked.udp_rules.size() == 1);
  CHECK(same(plain.listeners[0], asked.listeners_behind_rules));
  CHECK(same(plain.clusters[0], asked.clusters));
  CHECK(same(plain.endpoints[0], asked.endpoints));
}

TEST_CASE("no port to spare for a second listener: Envoy has one, with affinity") {
  auto config = case_named("udp_affinity").config;
  auto other = config;
  const auto taken = static_cast<std::uint16_t>(config.listeners[0].port + 0x8000);
  other.listeners[0].port = taken;
  other.listeners[0].name += "-other";
  config.listeners.push_back(other.listeners[0]);
  const auto rendered = envoy::render(config, golden_paths());
  CHECK(rendered.udp_rules.empty());
  CHECK(rendered.listeners_behind_rules.empty());
  CHECK(rendered.listeners.size() == 2);
  CHECK(rendered.listeners[0].body.find("~sticky") != std::string::npos);

  config.listeners[0].restricted = true;
  const auto guarded = envoy::render(config, golden_paths());
  REQUIRE(guarded.udp_rules.size() == 1);
  CHECK(guarded.udp_rules[0].divert == 0);
  CHECK(guarded.listeners_behind_rules == rendered.listeners);
}

TEST_CASE("endpoints change their file and nothing else") {
  const auto full = render_case("tcp_one_port");
  const auto empty = render_case("tcp_no_endpoints");
  CHECK(full.listeners == empty.listeners);
  CHECK(full.clusters == empty.clusters);
  CHECK(full.endpoints != empty.endpoints);
}

TEST_CASE("the PROXY protocol changes the cluster and nothing else") {
  auto config = case_named("tcp_one_port").config;
  const auto plain = envoy::render(config, golden_paths());
  config.backends[0].proxy_protocol = core::ProxyProtocol::V1;
  const auto announced = envoy::render(config, golden_paths());
  CHECK(plain.listeners == announced.listeners);
  CHECK(plain.endpoints == announced.endpoints);
  CHECK(plain.clusters != announced.clusters);
}

TEST_CASE("UDP backends get no PROXY header") {
  auto config = case_named("udp_one_port").config;
  const auto plain = envoy::render(config, golden_paths());
  config.backends[0].proxy_protocol = core::ProxyProtocol::V2;
  CHECK(envoy::render(config, golden_paths()) == plain);
}

TEST_CASE("source ranges leave the filter chain as it was") {
  const auto chain_of = [](const std::string& name) {
    return json::parse(render_case(name).listeners.at(0).body)["filter_chains"];
  };
  CHECK(chain_of("tcp_one_port") == chain_of("tcp_source_ranges"));
  CHECK(chain_of("tcp_one_port") == chain_of("tcp_nobody_admitted"));
}

TEST_CASE("each cluster reads the file that carries its endpoints") {
  const auto rendered = render_case("dual_stack_dns");
  std::set<std::string> files;
  for (std::size_t i = 0; i < rendered.clusters.size(); ++i) {
    const auto cluster = json::parse(rendered.clusters[i].body);
    const auto& endpoints = rendered.endpoints.at(i);
    const auto& source = cluster["eds_cluster_config"]["eds_config"]["path_config_source"];
    CHECK(source["path"] == golden_paths().endpoints + "/" + endpoints.file);
    CHECK(json::parse(endpoints.body)["cluster_name"] == rendered.clusters[i].name);
    files.insert(endpoints.file);
  }
  CHECK(files.size() == 6);
}
