// What KEP-1959, -1435, -3622 and -4144 say of Services, as far as a real API server knows it; what
// it does not is held by service_test.cpp.

#include "apiserver/contract.hpp"

namespace kindlb::test {

namespace {
std::string in(const std::string& ns) {
  return "/api/v1/namespaces/" + ns + "/services";
}

std::string named(const std::string& name, const std::string& spec) {
  return R"({"apiVersion":"v1","kind":"Service","metadata":{"name":")" + name + R"("},"spec":)" +
         spec + "}";
}

/// A Service "web" of the first spec, which is then replaced by each of the others.
Scenario replaced(const std::string& ns, const std::vector<std::string>& specs) {
  Scenario out{ns, {make_namespace(ns)}};
  for (const auto& spec : specs) {
    const bool first = out.steps.size() == 1;
    out.steps.push_back(
        {first ? "POST" : "PUT", first ? in(ns) : in(ns) + "/web", "json", named("web", spec)});
  }
  out.steps.push_back({"GET", in(ns) + "/web", "", ""});
  return out;
}

/// KEP-1959: set at creation or with the type, never changed, gone with the type.
std::vector<Scenario> classes() {
  const std::string lb = R"("type":"LoadBalancer","ports":[{"port":80}])";
  const std::string classy = "{" + lb + R"(,"loadBalancerClass":"a.b/c"})";
  const std::string plain = "{" + lb + "}";
  return {
      replaced("class-left-out", {classy, plain}),
      replaced("class-added", {plain, classy}),
      replaced("class-kept", {classy, classy}),
      replaced("class-with-type", {R"({"ports":[{"port":80}]})", classy}),
      replaced("class-stays-behind",
               {classy, R"({"type":"NodePort","ports":[{"port":80}],"loadBalancerClass":"a.b/c"})",
                R"({"type":"NodePort","ports":[{"port":80}],"loadBalancerClass":"a.b/d"})", plain}),
      replaced(
          "class-external",
          {classy, R"({"type":"ExternalName","externalName":"a.b","loadBalancerClass":"a.b/c"})",
           R"({"type":"ExternalName","externalName":"a.b"})"}),
      replaced("class-name", {"{" + lb + R"(,"loadBalancerClass":"-a"})"}),
  };
}

/// KEP-1435: protocols side by side, also on one port number, and what the provider says of each.
std::vector<Scenario> mixed_protocols() {
  const std::string ns = "mixed-status";
  const auto status = in(ns) + "/web/status";
  const auto ingress = [&](const std::string& json) -> Step {
    return {"PATCH", status, "merge", R"({"status":{"loadBalancer":{"ingress":)" + json + "}}}"};
  };
  return {replaced("mixed-updates",
                   {R"({"type":"LoadBalancer","ports":[{"name":"a","port":53}]})",
                    R"({"type":"LoadBalancer","ports":[{"name":"a","port":53},
                    {"name":"b","port":53,"protocol":"UDP"}]})",
                    R"({"type":"LoadBalancer","ports":[{"name":"a","port":53},
                    {"name":"b","port":53,"protocol":"UDP"},
                    {"name":"c","port":53,"protocol":"SCTP"}]})",
                    R"({"type":"ClusterIP","ports":[{"name":"b","port":53,"protocol":"UDP"}]})"}),
          replaced("mixed-node-port",
                   {R"({"type":"LoadBalancer","ports":[{"name":"a","port":53,"nodePort":30053},
                    {"name":"b","port":53,"protocol":"UDP","nodePort":30053}]})"}),
          replaced("mixed-twice", {R"({"type":"LoadBalancer","ports":[{"name":"a","port":53,
                    "protocol":"UDP"},{"name":"b","port":53,"protocol":"UDP"}]})"}),
          {ns,
           {make_namespace(ns),
            {"POST", in(ns), "json",
             named("web", R"({"type":"LoadBalancer","ports":[{"name":"t","port":53},
              {"name":"u","port":53,"protocol":"UDP"}]})")},
            ingress(R"([{"ip":"10.1.2.3","ipMode":"Proxy","ports":[{"port":53,"protocol":"TCP"},
              {"port":53,"protocol":"UDP","error":"a.b/Unsupported"}]}])"),
            ingress(R"([{"hostname":"lb.example.com"},{"ip":"fd00::1","ipMode":"VIP"}])"),
            ingress(R"([{"hostname":"lb.example.com","ipMode":"VIP"}])"),
            ingress(R"([{"hostname":"10.1.2.3"}])"),
            ingress(R"([{"ip":"10.1.2.3","ipMode":"Magic"}])"),
            ingress(R"([{"ip":"010.1.2.3"}])"),
            {"PATCH", status, "merge",
             R"({"status":{"conditions":[{"type":"LoadBalancerMixedProtocolNotSupported",
              "status":"True","reason":"R","message":"m",
              "lastTransitionTime":"2026-01-01T00:00:00Z"}]}})"},
            {"PATCH", in(ns) + "/web", "merge", R"({"spec":{"type":"NodePort"}})"},
            {"GET", in(ns) + "/web", "", ""}}}};
}

/// The node ports that KEP-3622 and -4144 take for their model.
std::vector<Scenario> node_ports() {
  const std::string off = R"({"type":"LoadBalancer","allocateLoadBalancerNodePorts":false,)";
  return {
      replaced("node-ports-off", {off + R"("ports":[{"name":"a","port":80}]})",
                                  off + R"("ports":[{"name":"a","port":80,"nodePort":30048}]})",
                                  off + R"("ports":[{"name":"a","port":80}]})",
                                  R"({"type":"LoadBalancer","ports":[{"name":"a","port":80}]})",
                                  off + R"("ports":[{"name":"a","port":80}]})",
                                  R"({"type":"NodePort","ports":[{"name":"a","port":80}]})"}),
      replaced("node-ports-kept",
               {R"({"type":"NodePort","ports":[{"name":"a","port":80},{"name":"b","port":81}]})",
                R"({"type":"NodePort","ports":[{"name":"b","port":81},{"name":"c","port":82}]})",
                R"({"type":"NodePort","allocateLoadBalancerNodePorts":false,
                    "ports":[{"name":"b","port":81}]})"}),
  };
}

std::vector<Scenario> health_check_ports() {
  const std::string local =
      R"({"type":"LoadBalancer","externalTrafficPolicy":"Local","ports":[{"port":80}])";
  const std::string cluster =
      R"({"type":"LoadBalancer","externalTrafficPolicy":"Cluster","ports":[{"port":80}])";
  return {
      replaced("health-given",
               {local + R"(,"healthCheckNodePort":30077})", local + "}",
                local + R"(,"healthCheckNodePort":30078})", local + R"(,"healthCheckNodePort":0})",
                cluster + "}", cluster + R"(,"healthCheckNodePort":30077})"}),
      replaced("health-wrong",
               {local + R"(,"healthCheckNodePort":80})", local + R"(,"healthCheckNodePort":-1})",
                local + R"(,"healthCheckNodePort":99999})"}),
      replaced("health-comes", {cluster + "}", local + "}",
                                R"({"type":"NodePort","externalTrafficPolicy":"Local",
                                    "ports":[{"port":80}]})"}),
  };
}

/// What a Service had is free for the next one when it is gone, and not before.
Scenario given_back() {
  const std::string ns = "given-back";
  const std::string spec =
      R"({"type":"LoadBalancer","externalTrafficPolicy":"Local","clusterIP":"10.96.0.77",
          "healthCheckNodePort":30055,"ports":[{"port":80,"nodePort":30056}]})";
  return {ns,
          {make_namespace(ns),
           {"POST", in(ns), "json", named("web", spec)},
           {"POST", in(ns), "json", named("other", spec)},
           {"POST", in(ns), "json", named("ports", R"({"type":"NodePort",
                "ports":[{"port":80,"nodePort":30055}]})")},
           {"POST", in(ns), "json", named("ports", R"({"type":"NodePort",
                "ports":[{"port":80,"nodePort":30056}]})")},
           {"DELETE", in(ns) + "/web", "", ""},
           {"POST", in(ns), "json", named("other", spec)},
           {"DELETE", in(ns) + "/other", "json", R"({"preconditions":{"uid":"nobody"}})"},
           {"DELETE", in(ns) + "/other", "", ""}}};
}

Scenario lists() {
  const std::string ns = "lists";
  Scenario out{ns, {make_namespace(ns)}};
  for (const char* name : {"a", "b", "c"})
    out.steps.push_back({"POST", in(ns), "json",
                         R"({"metadata":{"name":")" + std::string(name) +
                             R"(","labels":{"which":")" + name +
                             R"("}},"spec":{"ports":[{"port":1}]}})"});
  for (const char* query :
       {"?limit=2", "?limit=-1", "?labelSelector=which%3Da", "?labelSelector=which%20in%20(a%2Cb)",
        "?labelSelector=%21which", "?labelSelector=which%3D%3D%3D",
        "?fieldSelector=metadata.name%3Db", "?fieldSelector=metadata.name%21%3Db",
        "?continue=nonsense", "?resourceVersion=nonsense"})
    out.steps.push_back({"GET", in(ns) + query, "", ""});
  out.steps.push_back({"DELETE", in(ns) + "?labelSelector=which%3Da", "", ""});
  out.steps.push_back({"GET", in(ns) + "/a", "", ""});
  return out;
}

Scenario others() {
  const std::string ns = "others";
  const auto slices = "/apis/discovery.k8s.io/v1/namespaces/" + ns + "/endpointslices";
  const auto leases = "/apis/coordination.k8s.io/v1/namespaces/" + ns + "/leases";
  return {
      ns,
      {make_namespace(ns),
       {"POST", slices, "json",
        R"({"metadata":{"name":"s","labels":{"kubernetes.io/service-name":"web"}},
                "addressType":"IPv4","endpoints":[{"addresses":["10.1.2.3"]}],
                "ports":[{"name":"http","port":80}]})"},
       {"PATCH", slices + "/s", "merge", R"({"metadata":{"labels":{"a":"b"}}})"},
       {"DELETE", slices + "/s", "", ""},
       {"POST", leases, "json",
        R"({"metadata":{"name":"l"},"spec":{"holderIdentity":"me","leaseDurationSeconds":15}})"},
       {"PATCH", leases + "/l", "merge", R"({"spec":{"holderIdentity":"you"}})"},
       {"DELETE", leases + "/l", "", ""}}};
}
}  // namespace

std::vector<Scenario> kep_scenarios() {
  std::vector<Scenario> all;
  for (const auto& group : {classes(), mixed_protocols(), node_ports(), health_check_ports()})
    all.insert(all.end(), group.begin(), group.end());
  for (const auto& one : {given_back(), lists(), others()}) all.push_back(one);
  return all;
}

}  // namespace kindlb::test
