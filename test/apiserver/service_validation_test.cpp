#include "apiserver/service_rig.hpp"

using namespace kindlb::test;

TEST_CASE("what a Service must not be") {
  struct Case {
    const char* name;
    const char* spec;
    const char* why;
  };
  const Case cases[] = {
      {"no ports", R"({"ports":null})", "spec.ports: Required value"},
      {"port too high", R"({"ports":[{"port":70000,"targetPort":1}]})",
       "spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive"},
      {"unknown protocol", R"({"ports":[{"port":1,"protocol":"ICMP"}]})",
       "spec.ports[0].protocol: Unsupported value: \"ICMP\": supported values: \"SCTP\", \"TCP\", "
       "\"UDP\""},
      {"nameless among several", R"({"ports":[{"port":1,"name":"a"},{"port":2}]})",
       "spec.ports[1].name: Required value"},
      {"name twice", R"({"ports":[{"port":1,"name":"a"},{"port":2,"name":"a"}]})",
       "spec.ports[1].name: Duplicate value: \"a\""},
      {"unknown type", R"({"type":"Magic"})",
       "spec.type: Unsupported value: \"Magic\": supported values: \"ClusterIP\", "
       "\"ExternalName\", \"LoadBalancer\", \"NodePort\""},
      {"unknown affinity", R"({"sessionAffinity":"Cookie"})",
       "spec.sessionAffinity: Unsupported value: \"Cookie\": supported values: \"ClientIP\", "
       "\"None\""},
      {"affinity too long",
       R"({"sessionAffinity":"ClientIP","sessionAffinityConfig":{"clientIP":{"timeoutSeconds":90000}}})",
       "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 90000: must be greater "
       "than 0 and less than 86400"},
      {"source range", R"({"loadBalancerSourceRanges":["10.0.0.0/33"]})",
       "spec.LoadBalancerSourceRanges[0]: Invalid value: \"10.0.0.0/33\": must be a valid CIDR "
       "value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"},
      {"unknown policy", R"({"externalTrafficPolicy":"Near"})",
       "spec.externalTrafficPolicy: Unsupported value: \"Near\": supported values: \"Cluster\", "
       "\"Local\""},
      {"health check without Local", R"({"healthCheckNodePort":31000})",
       "spec.healthCheckNodePort: Invalid value: 31000: may only be set when `type` is "
       "'LoadBalancer' and `externalTrafficPolicy` is 'Local'"},
      {"external name missing", R"({"type":"ExternalName"})", "spec.externalName: Required value"},
      {"node port of a ClusterIP", R"({"type":"ClusterIP","ports":[{"port":1,"nodePort":30001}]})",
       "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"},
      {"policy of a ClusterIP", R"({"type":"ClusterIP","externalTrafficPolicy":"Local"})",
       "spec.externalTrafficPolicy: Invalid value: \"Local\": may only be set for "
       "externally-accessible services"},
      {"source ranges of a ClusterIP",
       R"({"type":"ClusterIP","loadBalancerSourceRanges":["10.0.0.0/8"]})",
       "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      check_invalid(c.spec, c.why);
    }
  }
}

TEST_CASE("all errors are reported together") {
  ServiceRig rig;
  const auto refused = rig.create(load_balancer(R"({"sessionAffinity":"x","type":"y"})"));
  REQUIRE_FALSE(static_cast<bool>(refused));
  CHECK(refused.error().causes.size() == 2);
  CHECK(refused.error().message.find(": [spec.sessionAffinity: ") != std::string::npos);
}

TEST_CASE("status: addresses belong to load balancers and are well-formed") {
  const FeatureGates gates;
  ServiceRig rig;
  const auto old = rig.must_create(load_balancer());
  auto now = old;
  now["spec"]["externalTrafficPolicy"] = "Local";
  now["status"] = Json::parse(R"({"loadBalancer":{"ingress":[{"ip":"172.18.0.9"}]}})");
  const auto written = prepare_service_status(now, old, gates);
  REQUIRE(static_cast<bool>(written));
  CHECK((*written)["spec"] == old["spec"]);
  CHECK((*written)["status"]["loadBalancer"]["ingress"][0]["ipMode"] == "VIP");

  now["status"]["loadBalancer"]["ingress"][0]["ip"] = "somewhere";
  CHECK_FALSE(static_cast<bool>(prepare_service_status(now, old, gates)));

  const auto plain = rig.must_create(with(load_balancer(), R"({"type":"NodePort"})"));
  now["status"]["loadBalancer"]["ingress"][0]["ip"] = "172.18.0.9";
  CHECK(prepare_service_status(now, plain, gates).error().message ==
        "Service \"web\" is invalid: status.loadBalancer.ingress: Forbidden: may only be used when "
        "`spec.type` is 'LoadBalancer'");
}

TEST_CASE("status: gates that are off drop what they brought, but not what is stored") {
  struct Case {
    const char* name;
    FeatureGates gates;
    bool ports;
    bool conditions;
  };
  const Case cases[] = {
      {"all on", {}, true, true},
      {"KEP-1435 off", {.mixed_protocol_lb_service = false}, false, true},
      {"KEP-4631 off: conditions exist since KEP-1435",
       {.load_balancer_status_improvements = false},
       true,
       true},
      {"both off",
       {.load_balancer_status_improvements = false, .mixed_protocol_lb_service = false},
       false,
       false},
  };
  ServiceRig rig;
  const auto old = rig.must_create(load_balancer());
  auto now = old;
  now["status"] = Json::parse(
      R"({"loadBalancer":{"ingress":[{"ip":"172.18.0.9","ports":[{"port":80,"protocol":"TCP"}]}]},
          "conditions":[{"type":"LoadBalancerServing","status":"True","reason":"Serving",
                         "message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]})");
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const auto written = prepare_service_status(now, old, c.gates);
      REQUIRE(static_cast<bool>(written));
      const auto& status = (*written)["status"];
      CHECK(status["loadBalancer"]["ingress"][0].contains("ports") == c.ports);
      CHECK(status.contains("conditions") == c.conditions);
      const auto again = prepare_service_status(now, now, c.gates);
      REQUIRE(static_cast<bool>(again));
      CHECK((*again)["status"]["loadBalancer"]["ingress"][0].contains("ports"));
      CHECK((*again)["status"].contains("conditions"));
    }
  }
}

TEST_CASE("a change of type clears what the load balancer reported") {
  ServiceRig rig;
  auto old = rig.must_create(load_balancer());
  old["status"]["loadBalancer"]["ingress"] = Json::parse(R"([{"ip":"172.18.0.9","ipMode":"VIP"}])");
  const auto now = rig.must_update(with(old, R"({"type":"ClusterIP"})"), old);
  CHECK(now["status"]["loadBalancer"] == Json::object());
}
