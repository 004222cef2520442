// Each golden through the real Envoy's validate mode. Validate mode does not look into the files of
// file-based xDS, so the resources are inlined as static ones, where it checks every field.
#include "envoy/render_cases.hpp"
#include "support/docker_rig.hpp"
#include "support/golden.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using namespace kindlb;
using nlohmann::json;

/// Exists in every Envoy image: validate mode wants files that exist, and does not read them.
constexpr const char* kSomeFile = "/usr/local/bin/envoy";

/// An idle Envoy container to run validations in.
class Validator {
 public:
  Validator()
      : id_(rig_.start({.image = testing::envoy_image(),
                        .command = {"--disable-hot-restart", "--config-yaml", "{}"},
                        .network = "none",
                        .read_only_root = true})) {}

  /// Envoy's own words; "configuration '' OK" among them means accepted.
  std::string verdict(const json& config) {
    return rig_.output_of(id_, {kSomeFile, "--mode", "validate", "--reject-unknown-dynamic-fields",
                                "--log-level", "warning", "--config-yaml", config.dump()});
  }

 private:
  testing::DockerRig rig_;
  std::string id_;
};

Validator& validator() {
  static Validator instance;
  return instance;
}

bool accepted(const std::string& verdict) {
  return verdict.find("configuration '' OK") != std::string::npos;
}

json without_type(json resource) {
  resource.erase("@type");
  return resource;
}

void point_at_some_file(json& config_source) {
  config_source.at("path_config_source").at("path") = kSomeFile;
}

/// The cluster as it is, but for the file, and a twin that has the endpoints inline.
void add_cluster(json& clusters, const json& cluster, const json& endpoints) {
  auto real = without_type(cluster);
  point_at_some_file(real.at("eds_cluster_config").at("eds_config"));
  auto twin = without_type(cluster);
  twin.erase("eds_cluster_config");
  twin["type"] = "STATIC";
  twin["name"] = "twin of " + twin["name"].get<std::string>();
  twin["load_assignment"] = without_type(endpoints);
  clusters.push_back(real);
  clusters.push_back(twin);
}

json endpoints_of(const json& golden, const json& cluster) {
  for (const auto& file : golden.at("files"))
    if (file.at("cluster_name") == cluster.at("name")) return file;
  FAIL("no endpoints for " << cluster.at("name"));
  return {};
}

json inlined(const json& golden, const char* which = "listeners") {
  auto listeners = json::array();
  auto clusters = json::array();
  for (const auto& listener : golden.at(which)) listeners.push_back(without_type(listener));
  for (const auto& cluster : golden.at("clusters"))
    add_cluster(clusters, cluster, endpoints_of(golden, cluster));
  return {{"node", {{"id", "contract"}, {"cluster", "contract"}}},
          {"static_resources", {{"listeners", listeners}, {"clusters", clusters}}}};
}

json golden(const std::string& name) {
  auto parsed = json::parse(testing::read_golden(name + ".json"), nullptr, false);
  REQUIRE_FALSE(parsed.is_discarded());
  return parsed;
}

}  // namespace

TEST_CASE("Envoy accepts each golden") {
  for (const auto& c : testing::render_cases()) {
    SUBCASE(c.name.c_str()) {
      const auto content = golden(c.name);
      for (const auto* which : {"listeners", "gated_listeners"}) {
        if (!content.contains(which)) continue;
        const auto verdict = validator().verdict(inlined(content, which));
        CHECK_MESSAGE(accepted(verdict), verdict);
      }
    }
  }
}

TEST_CASE("Envoy accepts the bootstrap") {
  auto config = golden("bootstrap");
  point_at_some_file(config.at("dynamic_resources").at("lds_config"));
  point_at_some_file(config.at("dynamic_resources").at("cds_config"));
  const auto verdict = validator().verdict(config);
  CHECK_MESSAGE(accepted(verdict), verdict);
}

TEST_CASE("Envoy refuses a golden with one thing wrong") {
  struct Case {
    const char* name;
    const char* golden;
    const char* where;  ///< JSON pointer
    json value;
  };
  const Case cases[] = {
      {"unknown listener field", "tcp_one_port", "/listeners/0/no_such_field", 1},
      {"a protocol Envoy does not have", "tcp_one_port",
       "/listeners/0/address/socket_address/protocol", "SCTP"},
      {"unknown filter field", "tcp_one_port",
       "/listeners/0/filter_chains/0/filters/0/typed_config/no_such_field", 1},
      {"unknown UDP filter field", "udp_one_port",
       "/listeners/0/listener_filters/0/typed_config/no_such_field", 1},
      {"a range that is none", "tcp_source_ranges",
       "/listeners/0/filter_chain_matcher/matcher_list/matchers/0/predicate/single_predicate/"
       "custom_match/typed_config/cidr_ranges/0/address_prefix",
       "10.0.0"},
      {"an action of an unknown type", "tcp_one_port",
       "/listeners/0/filter_chain_matcher/on_no_match/action/typed_config/@type",
       "type.googleapis.com/no.such.Type"},
      {"unknown policy", "tcp_affinity", "/clusters/0/lb_policy", "MAGIC"},
      {"unknown version of the PROXY protocol", "tcp_proxy_protocol_v1",
       "/clusters/0/transport_socket/typed_config/config/version", "V3"},
      {"a health check of nothing", "tcp_health_check",
       "/clusters/0/health_checks/0/http_health_check/path", ""},
      {"a health check of another protocol", "udp_health_check",
       "/clusters/0/health_checks/0/no_such_check", 1},
      {"unknown socket option state", "udp_one_port", "/listeners/0/socket_options/0/state",
       "STATE_OF_MIND"},
      {"unknown EDS field", "tcp_one_port",
       "/clusters/0/eds_cluster_config/eds_config/no_such_field", 1},
      {"a name for an address", "tcp_one_port",
       "/files/eds-e3cdfc0ab3761c55.json/endpoints/0/lb_endpoints/0/endpoint/address/"
       "socket_address/address",
       "not-an-address"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      auto wrong = golden(c.golden);
      wrong[json::json_pointer(c.where)] = c.value;
      const auto verdict = validator().verdict(inlined(wrong));
      CHECK_MESSAGE(!accepted(verdict), verdict);
      CHECK_MESSAGE(verdict.find("error initializing configuration") != std::string::npos, verdict);
    }
  }
}
