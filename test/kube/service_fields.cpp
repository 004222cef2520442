#include "kube/service_fields.hpp"

#include <stdexcept>

namespace kindlb::test {

namespace {

FieldCase in_spec(const std::string& name, FieldClass kind, const std::string& change,
                  const std::string& before = "{}") {
  return {name, kind, R"({"spec":)" + change + "}", R"({"spec":)" + before + "}"};
}

/// `change`: of the Service's only port. A merge patch replaces lists, so the port is repeated.
FieldCase in_port(const std::string& name, FieldClass kind, const std::string& change) {
  auto port = nlohmann::json::parse(
      R"({"name":"http","protocol":"TCP","port":80,"targetPort":8080,"nodePort":30080})");
  port.merge_patch(nlohmann::json::parse(change));
  return in_spec("ports[]." + name, kind,
                 nlohmann::json{{"ports", nlohmann::json::array({port})}}.dump());
}

FieldCase annotated(const std::string& name, FieldClass kind, const std::string& value) {
  return {name, kind, nlohmann::json{{"metadata", {{"annotations", {{name, value}}}}}}.dump()};
}

/// Follow a schema to the one that describes it. kube-apiserver writes {"allOf": [{"$ref": ...}]}
/// where a description or a default is added to a reference.
const nlohmann::json& resolved(const nlohmann::json& schema, const nlohmann::json& schemas) {
  if (schema.contains("allOf")) return resolved(schema["allOf"][0], schemas);
  if (!schema.contains("$ref")) return schema;
  const auto reference = schema["$ref"].get<std::string>();
  return resolved(schemas.at(reference.substr(reference.rfind('/') + 1)), schemas);
}

void collect(const nlohmann::json& schema, const nlohmann::json& schemas, const std::string& path,
             std::set<std::string>& out) {
  const auto& type = resolved(schema, schemas);
  if (type.contains("items") && resolved(type["items"], schemas).contains("properties"))
    return collect(type["items"], schemas, path + "[]", out);
  if (!type.contains("properties")) {
    out.insert(path);
    return;
  }
  for (const auto& [name, field] : type["properties"].items())
    collect(field, schemas, path.empty() ? name : path + "." + name, out);
}

}  // namespace

std::vector<FieldCase> spec_field_cases() {
  using enum FieldClass;
  return {
      in_spec("allocateLoadBalancerClusterIP", Hidden,
              R"({"allocateLoadBalancerClusterIP":false})"),
      in_spec("allocateLoadBalancerHCNodePort", Hidden,
              R"({"allocateLoadBalancerHCNodePort":false})"),
      in_spec("allocateLoadBalancerNodePorts", Hidden,
              R"({"allocateLoadBalancerNodePorts":false})"),
      in_spec("clusterIP", Unrelated, R"({"clusterIP":"10.96.0.8"})"),
      in_spec("clusterIPs", Unrelated, R"({"clusterIPs":["10.96.0.8"]})"),
      in_spec("externalIPs", Unrelated, R"({"externalIPs":["192.0.2.7"]})"),
      in_spec("externalName", Unrelated, R"({"externalName":"web.example.com"})"),
      // Degraded appears; the pods that clients reach are the same on the direct path.
      in_spec("externalTrafficPolicy", Hidden, R"({"externalTrafficPolicy":"Local"})"),
      in_spec("healthCheckNodePort", Hidden, R"({"healthCheckNodePort":32000})",
              R"({"externalTrafficPolicy":"Local"})"),
      in_spec("internalTrafficPolicy", Unrelated, R"({"internalTrafficPolicy":"Local"})"),
      in_spec("ipFamilies", Visible, R"({"ipFamilies":["IPv4","IPv6"]})"),
      in_spec("ipFamilyPolicy", Hidden, R"({"ipFamilyPolicy":"PreferDualStack"})"),
      in_spec("loadBalancerClass", Owner, R"({"loadBalancerClass":"example.com/other"})"),
      in_spec("loadBalancerIP", Visible, R"({"loadBalancerIP":"172.18.7.7"})"),
      in_spec("loadBalancerSourceRanges", Visible,
              R"({"loadBalancerSourceRanges":["10.0.0.0/8"]})"),
      in_port("appProtocol", Hidden, R"({"appProtocol":"http"})"),
      in_port("name", Hidden, R"({"name":"web"})"),
      in_port("nodePort", Hidden, R"({"nodePort":30081})"),
      in_port("port", Visible, R"({"port":81})"),
      in_port("protocol", Visible, R"({"protocol":"UDP"})"),
      in_port("targetPort", Visible, R"({"targetPort":8081})"),
      in_spec("publishNotReadyAddresses", Unrelated, R"({"publishNotReadyAddresses":true})"),
      in_spec("requiredLoadBalancerFeatures", Hidden,
              R"({"requiredLoadBalancerFeatures":["Ports"]})"),
      in_spec("selector", Unrelated, R"({"selector":{"app":"other"}})"),
      in_spec("sessionAffinity", Visible, R"({"sessionAffinity":"ClientIP"})"),
      // Degraded appears: there is no timeout.
      in_spec("sessionAffinityConfig.clientIP.timeoutSeconds", Hidden,
              R"({"sessionAffinityConfig":{"clientIP":{"timeoutSeconds":60}}})",
              R"({"sessionAffinity":"ClientIP",
                  "sessionAffinityConfig":{"clientIP":{"timeoutSeconds":10800}}})"),
      in_spec("trafficDistribution", Hidden, R"({"trafficDistribution":"PreferSameZone"})"),
      in_spec("type", Owner, R"({"type":"ClusterIP"})"),
  };
}

std::vector<FieldCase> annotation_cases() {
  using enum FieldClass;
  return {
      annotated("kindlb.dev/datapath", Visible, "nodeport"),
      annotated("kindlb.dev/fault-infrastructure", Visible, "quota exceeded"),
      annotated("kindlb.dev/fault-interrupt-on-update", Hidden, "true"),
      // What it delays is the change that adds it, and the end of a delay counts as an update.
      annotated("kindlb.dev/fault-provisioning-delay", Visible, "2s"),
      annotated("kindlb.dev/fault-unsupported", Hidden, "SessionAffinity"),
      annotated("kindlb.dev/load-balancer-ips", Visible, "172.18.7.7"),
      annotated("kindlb.dev/proxy-protocol", Visible, "v2"),
      annotated("kindlb.dev/required-load-balancer-features", Hidden, "Ports"),
      annotated("service.beta.kubernetes.io/azure-load-balancer-mixed-protocols", Hidden, "true"),
      annotated("service.beta.kubernetes.io/load-balancer-source-ranges", Visible, "10.0.0.0/8"),
  };
}

std::set<std::string> names_of(const std::vector<FieldCase>& cases) {
  std::set<std::string> out;
  for (const auto& c : cases) out.insert(c.name);
  return out;
}

std::set<std::string> names_of(const std::vector<FieldCase>& cases, FieldClass kind) {
  std::set<std::string> out;
  for (const auto& c : cases)
    if (c.kind == kind) out.insert(c.name);
  return out;
}

std::set<std::string> spec_fields_of(const nlohmann::json& openapi) {
  const auto& schemas = openapi.at("components").at("schemas");
  for (const auto& [name, schema] : schemas.items()) {
    if (!name.ends_with(".ServiceSpec")) continue;
    std::set<std::string> out;
    collect(schema, schemas, "", out);
    return out;
  }
  throw std::runtime_error("the OpenAPI document has no ServiceSpec");
}

}  // namespace kindlb::test
