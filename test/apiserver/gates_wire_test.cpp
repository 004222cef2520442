// A gate is switched off and on again between runs of the API server (KEP-1959, KEP-3622, KEP-4144:
// "Feature Enablement and Rollback"): what is stored survives, and new objects get none of it.

#include "apiserver/wire_rig.hpp"
#include "support/temp_folder.hpp"

using namespace kindlb;
using namespace kindlb::test;

namespace {

using Gate = bool apiserver::FeatureGates::*;

/// A field that exists only with its gate, and a value that is not the default.
struct GatedField {
  const char* name;
  Gate gate;
  Json value;
  Json absent;  ///< what a server with the gate shows where nothing was set; null: no field
};

std::vector<GatedField> gated_fields() {
  using apiserver::FeatureGates;
  return {
      {"loadBalancerClass", &FeatureGates::service_load_balancer_class, "example.com/a", {}},
      {"allocateLoadBalancerClusterIP", &FeatureGates::service_lb_cluster_ip_control, false, true},
      {"allocateLoadBalancerHCNodePort", &FeatureGates::service_lb_health_check_node_port_control,
       false, true},
      {"requiredLoadBalancerFeatures",
       &FeatureGates::load_balancer_status_improvements,
       Json::array({"Ports"}),
       {}}};
}

/// One server after the other on the same file.
class Restarts {
 public:
  void run(const apiserver::FeatureGates& gates) {
    server_.reset();  // saves
    apiserver::ServerOptions options;
    options.state_file = folder_ / "state";
    options.gates = gates;
    server_ = start(options);
    client_ = client_of(*server_);
  }
  int create(const std::string& name, Json spec) {
    spec["type"] = "LoadBalancer";
    spec["externalTrafficPolicy"] = "Local";
    if (!spec.contains("ports")) spec["ports"] = Json::array({{{"port", 80}}});
    const Json service{{"metadata", {{"name", name}}}, {"spec", spec}};
    return send(*client_, "POST", kServices, service.dump()).status;
  }
  Json patch(const std::string& name, const Json& change) {
    const auto answer =
        send(*client_, "PATCH", path(name), change.dump(), "application/merge-patch+json");
    REQUIRE_MESSAGE(answer.status == 200, answer.body);
    return Json::parse(answer.body)["spec"];
  }
  Json get(const std::string& name) { return Json::parse(send(*client_, "GET", path(name)).body); }
  Json spec(const std::string& name) { return get(name)["spec"]; }

 private:
  static std::string path(const std::string& name) { return std::string(kServices) + "/" + name; }

  const TempFolder folder_;
  std::unique_ptr<apiserver::Server> server_;
  std::shared_ptr<http::Client> client_;
};

apiserver::FeatureGates without(Gate gate) {
  apiserver::FeatureGates out;
  out.*gate = false;
  return out;
}

/// The value, or null where there is none.
Json value_of(const Json& spec, const GatedField& field) {
  return spec.contains(field.name) ? spec[field.name] : Json();
}

Json labelled(const char* value) {
  return {{"metadata", {{"labels", {{"run", value}}}}}};
}

}  // namespace

TEST_CASE("a field in use survives a rollback of its gate, and comes back") {
  for (const auto& field : gated_fields()) {
    SUBCASE(field.name) {
      Restarts api;
      api.run({});
      REQUIRE(api.create("used", {{field.name, field.value}}) == 201);
      REQUIRE(api.create("plain", Json::object()) == 201);
      const auto before = api.get("used");

      api.run(without(field.gate));
      CHECK(api.get("used") == before);
      CHECK(value_of(api.patch("used", labelled("off")), field) == field.value);
      REQUIRE(api.create("new", {{field.name, field.value}}) == 201);
      CHECK(value_of(api.spec("new"), field).is_null());
      CHECK(api.spec("new").contains("clusterIP"));
      CHECK(api.spec("new").contains("healthCheckNodePort"));

      api.run({});
      CHECK(api.get("used")["spec"] == before["spec"]);
      CHECK(value_of(api.patch("used", labelled("on")), field) == field.value);
      // What was dropped does not come back, and what is absent means what it always did.
      CHECK(value_of(api.spec("new"), field) == field.absent);
      CHECK(value_of(api.spec("plain"), field) == field.absent);
    }
  }
}

TEST_CASE("with the gate off a field in use can still be changed, and then be given up") {
  for (const auto& field : gated_fields()) {
    if (!field.value.is_boolean()) continue;
    SUBCASE(field.name) {
      const auto allocated = std::string(field.name) == "allocateLoadBalancerClusterIP"
                                 ? "clusterIP"
                                 : "healthCheckNodePort";
      Restarts api;
      api.run({});
      REQUIRE(api.create("used", {{field.name, false}}) == 201);
      REQUIRE(api.create("other", {{field.name, false}}) == 201);
      CHECK_FALSE(api.spec("used").contains(allocated));

      api.run(without(field.gate));
      const auto changed = api.patch("used", {{"spec", {{field.name, true}}}});
      CHECK(changed[field.name] == true);
      CHECK(changed.contains(allocated));
      // Without the field the default holds, and the field is unknown from now on.
      const auto removed = api.patch("other", {{"spec", {{field.name, nullptr}}}});
      CHECK_FALSE(removed.contains(field.name));
      CHECK(removed.contains(allocated));
      CHECK_FALSE(api.patch("other", {{"spec", {{field.name, false}}}}).contains(field.name));

      api.run({});
      CHECK(api.spec("used") == changed);
      CHECK(api.spec("other")[field.name] == true);
    }
  }
}

TEST_CASE("KEP-1435: a Service with mixed protocols outlives its gate") {
  const Json mixed{{"ports", Json::array({{{"name", "t"}, {"port", 53}},
                                          {{"name", "u"}, {"port", 53}, {"protocol", "UDP"}}})}};
  Restarts api;
  api.run({});
  REQUIRE(api.create("used", mixed) == 201);
  const auto before = api.spec("used");
  api.run(without(&apiserver::FeatureGates::mixed_protocol_lb_service));
  CHECK(api.patch("used", labelled("off")) == before);
  CHECK(api.create("new", mixed) == 422);
  api.run({});
  CHECK(api.spec("used") == before);
  CHECK(api.create("new", mixed) == 201);
}
