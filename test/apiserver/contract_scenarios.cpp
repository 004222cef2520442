#include "apiserver/contract.hpp"

namespace kindlb::test {

namespace {
std::string services_in(const std::string& ns) {
  return "/api/v1/namespaces/" + ns + "/services";
}

std::string service(const std::string& spec, const std::string& meta = "") {
  return R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"web")" + meta + R"(},"spec":)" +
         spec + "}";
}

/// A Service of this spec, and then these merge patches on it.
Scenario patched(const std::string& name, const std::string& spec,
                 const std::vector<std::string>& patches) {
  Scenario out{name, {make_namespace(name), {"POST", services_in(name), "json", service(spec)}}};
  for (const auto& patch : patches)
    out.steps.push_back({"PATCH", services_in(name) + "/web", "merge", patch});
  out.steps.push_back({"GET", services_in(name) + "/web", "", ""});
  return out;
}

constexpr const char* kLoadBalancer = R"({"type":"LoadBalancer","ports":[{"port":80}]})";

std::vector<Scenario> types() {
  return {
      patched("type-cycle", R"({"ports":[{"port":80}],"selector":{"app":"x"}})",
              {R"({"spec":{"type":"NodePort"}})", R"({"spec":{"type":"LoadBalancer"}})",
               R"({"spec":{"type":"ExternalName","externalName":"example.com"}})",
               R"({"spec":{"type":"ClusterIP"}})"}),
      patched(
          "class", R"({"type":"LoadBalancer","loadBalancerClass":"a.b/c","ports":[{"port":1}]})",
          {R"({"spec":{"loadBalancerClass":"a.b/d"}})", R"({"spec":{"loadBalancerClass":null}})",
           R"({"spec":{"type":"ClusterIP"}})", R"({"spec":{"loadBalancerClass":"a.b/d"}})",
           R"({"spec":{"type":"LoadBalancer","loadBalancerClass":"a.b/d"}})"}),
      patched(
          "local",
          R"({"type":"LoadBalancer","externalTrafficPolicy":"Local","ports":[{"port":1}]})",
          {R"({"spec":{"healthCheckNodePort":30040}})",
           R"({"spec":{"externalTrafficPolicy":"Cluster"}})",
           R"({"spec":{"externalTrafficPolicy":"Local"}})", R"({"spec":{"type":"ClusterIP"}})"}),
      patched(
          "nodeports",
          R"({"type":"LoadBalancer","allocateLoadBalancerNodePorts":false,"ports":[{"port":80}]})",
          {R"({"spec":{"allocateLoadBalancerNodePorts":true}})",
           R"({"spec":{"allocateLoadBalancerNodePorts":false}})",
           R"({"spec":{"ports":[{"port":81}]}})", R"({"spec":{"type":"ClusterIP"}})"}),
      patched("mixed", R"({"type":"LoadBalancer","ports":[{"name":"t","port":53},
               {"name":"u","port":53,"protocol":"UDP"}]})",
              {R"({"spec":{"ports":[{"name":"u","port":53,"protocol":"UDP"}]}})"}),
      patched("cluster-ip", R"({"ports":[{"port":80}]})",
              {R"({"spec":{"clusterIP":"10.96.0.200"}})", R"({"spec":{"clusterIP":"None"}})",
               R"({"spec":{"clusterIP":null,"clusterIPs":null}})",
               R"({"spec":{"ipFamilyPolicy":"RequireDualStack"}})",
               R"({"spec":{"ipFamilyPolicy":"PreferDualStack"}})",
               R"({"spec":{"ipFamilies":["IPv6"]}})"}),
      patched("headless", R"({"clusterIP":"None","selector":{"a":"b"}})",
              {R"({"spec":{"ports":[{"port":5}]}})", R"({"spec":{"type":"LoadBalancer"}})"}),
      patched("headless-free", R"({"clusterIP":"None"})", {}),
      patched("affinity", R"({"ports":[{"port":80}],"sessionAffinity":"ClientIP"})",
              {R"({"spec":{"sessionAffinity":"None"}})",
               R"({"spec":{"sessionAffinityConfig":{"clientIP":{"timeoutSeconds":5}}}})",
               R"({"spec":{"sessionAffinity":"ClientIP",
                    "sessionAffinityConfig":{"clientIP":{"timeoutSeconds":86401}}}})"}),
  };
}

Scenario refusals() {
  const std::string ns = "refusals";
  Scenario out{ns, {make_namespace(ns)}};
  for (
      const char* spec :
      {R"({})",
       R"({"ports":[{"port":0}]})",
       R"({"ports":[{"port":70000}]})",
       R"({"ports":[{"port":80,"protocol":"ICMP"}]})",
       R"({"ports":[{"port":80},{"port":81}]})",
       R"({"ports":[{"port":80,"name":"a"},{"port":81,"name":"a"}]})",
       R"({"ports":[{"port":80,"name":"a"},{"port":80,"name":"b"}]})",
       R"({"ports":[{"port":80,"name":"Bad_Name"}]})",
       R"({"type":"Magic","ports":[{"port":80}]})",
       R"({"ports":[{"port":80,"nodePort":30001}]})",
       R"({"type":"NodePort","ports":[{"port":80,"nodePort":80}]})",
       R"({"ports":[{"port":80,"targetPort":"a-very-long-port-name"}]})",
       R"({"ports":[{"port":80,"targetPort":"UPPER"}]})",
       R"({"ports":[{"port":80,"targetPort":70000}]})",
       R"({"ports":[{"port":80}],"clusterIP":"nonsense"})",
       R"({"ports":[{"port":80}],"clusterIPs":["10.96.0.7"]})",
       R"({"ports":[{"port":80}],"ipFamilies":["IPv6"]})",
       R"({"ports":[{"port":80}],"ipFamilies":["IPX"]})",
       R"({"ports":[{"port":80}],"ipFamilyPolicy":"RequireDualStack"})",
       R"({"ports":[{"port":80}],"ipFamilyPolicy":"Never"})",
       R"({"ports":[{"port":80}],"sessionAffinity":"Cookie"})",
       R"({"ports":[{"port":80}],"externalTrafficPolicy":"Local"})",
       R"({"ports":[{"port":80}],"internalTrafficPolicy":"Near"})",
       R"({"ports":[{"port":80}],"loadBalancerClass":"a.b/c"})",
       R"({"ports":[{"port":80}],"allocateLoadBalancerNodePorts":false})",
       R"({"ports":[{"port":80}],"healthCheckNodePort":30002})",
       R"({"ports":[{"port":80}],"loadBalancerSourceRanges":["10.0.0.0/8"]})",
       R"({"type":"LoadBalancer","ports":[{"port":80}],"loadBalancerSourceRanges":["10.0.0.0/99"]})",
       R"({"type":"LoadBalancer","ports":[{"port":80}],"loadBalancerClass":"no spaces"})",
       R"({"type":"ExternalName"})",
       R"({"type":"ExternalName","externalName":"Not A Name"})",
       R"({"ports":[{"port":80}],"externalIPs":["x"]})",
       R"({"ports":[{"port":80}],"selector":{"a b":"c"}})",
       R"({"ports":[{"port":80}],"trafficDistribution":"Far"})"})
    out.steps.push_back({"POST", services_in(ns), "json", service(spec)});
  out.steps.push_back({"GET", services_in(ns) + "/web", "", ""});
  out.steps.push_back(
      {"POST", "/api/v1/namespaces/nowhere/services", "json", service(kLoadBalancer)});
  out.steps.push_back({"POST", services_in(ns) + "?fieldValidation=Strict", "json",
                       service(R"({"ports":[{"port":80}],"bogus":1})")});
  out.steps.push_back({"DELETE", services_in(ns) + "/web", "", ""});
  return out;
}

Scenario status_and_finalizers() {
  const std::string ns = "status";
  const auto web = services_in(ns) + "/web";
  return {
      ns,
      {make_namespace(ns),
       {"POST", services_in(ns), "json", service(kLoadBalancer, R"(,"finalizers":["a.b/c"])")},
       {"PATCH", web + "/status", "merge",
        R"({"spec":{"type":"NodePort"},"status":{"loadBalancer":{"ingress":[{"ip":"10.1.2.3"}]}}})"},
       {"PATCH", web + "/status", "merge",
        R"({"status":{"loadBalancer":{"ingress":[{"ip":"nonsense"}]}}})"},
       {"PATCH", web, "merge", R"({"status":{"loadBalancer":{"ingress":[{"ip":"10.1.2.4"}]}}})"},
       {"PATCH", web, "merge", R"({"metadata":{"resourceVersion":"1"}})"},
       {"PATCH", web, "merge", R"({"metadata":{"uid":"abc"}})"},
       {"PATCH", web, "merge", R"({"metadata":{"finalizers":["bad"]}})"},
       {"DELETE", web, "", ""},
       {"GET", web, "", ""},
       {"PATCH", web, "merge", R"({"metadata":{"finalizers":null}})"},
       {"GET", web, "", ""}}};
}

Scenario patches() {
  const std::string ns = "patches";
  const auto web = services_in(ns) + "/web";
  return {
      ns,
      {make_namespace(ns),
       {"POST", services_in(ns), "json",
        service(R"({"type":"NodePort","ports":[{"name":"a","port":80},{"name":"b","port":81}]})")},
       {"PATCH", web, "strategic", R"({"spec":{"ports":[{"port":80,"targetPort":8080}]}})"},
       {"PATCH", web, "strategic", R"({"spec":{"ports":[{"port":81,"$patch":"delete"}]}})"},
       {"PATCH", web, "json-patch",
        R"([{"op":"test","path":"/spec/type","value":"NodePort"},
                {"op":"add","path":"/metadata/labels","value":{"x":"y"}}])"},
       {"PATCH", web, "merge", R"({"spec":{"ports":"many"}})"},
       {"PATCH", web, "merge", R"({"metadata":{"labels":{"x":"not a value!"}}})"},
       {"GET", web, "", ""}}};
}

Scenario server_side_apply() {
  const std::string ns = "apply";
  const auto web = services_in(ns) + "/web";
  const auto as = [&](const char* manager, const char* more = "") {
    return web + "?fieldManager=" + manager + more;
  };
  return {
      ns,
      {make_namespace(ns),
       {"PATCH", as("alice"), "apply", service(kLoadBalancer)},
       {"PATCH", as("alice"), "apply", service(kLoadBalancer)},
       {"PATCH", as("bob"), "apply", service(R"({"type":"NodePort"})")},
       {"PATCH", as("bob", "&force=true"), "apply", service(R"({"type":"NodePort"})")},
       {"PATCH", as("alice"), "apply", service(R"({"ports":[{"port":81}]})")},
       {"PATCH", web, "merge", R"({"spec":{"sessionAffinity":"ClientIP"}})"},
       {"PATCH", as("bob"), "apply", service(R"({"type":"NodePort","sessionAffinity":"None"})")},
       {"PATCH", web, "apply", service(kLoadBalancer)},
       {"PATCH", web + "/status?fieldManager=kindlb&force=true", "apply",
        R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"web",
                "finalizers":["service.kubernetes.io/load-balancer-cleanup"],
                "annotations":{"kindlb.dev/observed":"1"}},
                "status":{"conditions":[{"type":"A","status":"True","reason":"R","message":"m",
                  "lastTransitionTime":"2026-01-01T00:00:00Z"}]}})"},
       {"GET", web, "", ""}}};
}

Scenario errors() {
  return {"errors",
          {make_namespace("errors"),
           {"GET", "/api/v1/namespaces/errors/services/none", "", ""},
           {"GET", "/apis/discovery.k8s.io/v1/namespaces/errors/endpointslices/none", "", ""},
           {"PATCH", "/api/v1/namespaces/errors/services/none", "merge", "{}"},
           {"DELETE", "/api/v1/namespaces/errors/services/none", "", ""},
           {"GET", "/api/v1/services?fieldSelector=spec.nonsense%3D1", "", ""},
           {"POST", "/api/v1/namespaces", "json", R"({"metadata":{"name":"errors"}})"},
           {"POST", "/api/v1/namespaces/errors/services", "json",
            R"({"metadata":{"name":"Bad"},"spec":{"ports":[{"port":1}]}})"}}};
}
}  // namespace

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> kAll = [] {
    auto all = types();
    for (auto&& more :
         {refusals(), status_and_finalizers(), patches(), server_side_apply(), errors()})
      all.push_back(more);
    for (auto&& more : kep_scenarios()) all.push_back(more);
    return all;
  }();
  return kAll;
}

}  // namespace kindlb::test
