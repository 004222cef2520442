#include "service/service.hpp"

#include <map>
#include <set>

namespace kindlb::apiserver {

namespace {
/// Drop a field that the new type does not allow, unless the client changed it in the same request:
/// then validation reports it.
void drop_if_same(Json& service, const Json& old, const char* field) {
  if (same_spec_field(service, old, field)) service["spec"].erase(field);
}

/// targetPort 0 and "" count as absent, as in the Go types.
void default_port(Json& port) {
  if (!port.contains("protocol")) port["protocol"] = "TCP";
  const auto* target = find(port, {"targetPort"});
  if (target == nullptr || *target == 0 || *target == "")
    port["targetPort"] = number_at(port, {"port"});
}

void default_affinity(Json& spec) {
  if (!spec.contains("sessionAffinity")) spec["sessionAffinity"] = "None";
  if (spec["sessionAffinity"] == "None") spec.erase("sessionAffinityConfig");
  if (spec["sessionAffinity"] != "ClientIP") return;
  // Three hours: DefaultClientIPServiceAffinitySeconds.
  if (find(spec, {"sessionAffinityConfig", "clientIP", "timeoutSeconds"}) == nullptr)
    spec["sessionAffinityConfig"] = {{"clientIP", {{"timeoutSeconds", 10800}}}};
}

void set_default(Json& spec, const char* field, const Json& value) {
  if (!spec.contains(field)) spec[field] = value;
}

/// Restore node ports by the name of the port. A node port that the client gave to another port in
/// the same request is not restored: that would be a duplicate.
void keep_node_ports(Json& service, const Json& old) {
  std::map<std::string, int> by_name;
  for (const auto& port : list_at(old, {"spec", "ports"}))
    by_name[text_at(port, {"name"})] = static_cast<int>(number_at(port, {"nodePort"}));
  const auto before = node_ports(old);
  const auto asked = node_ports(service);
  for (auto& port : service["spec"]["ports"]) {
    if (number_at(port, {"nodePort"}) != 0) continue;
    const auto known = by_name.find(text_at(port, {"name"}));
    if (known == by_name.end() || known->second == 0) continue;
    const bool given_to_another =
        before.count(known->second) != 0 && asked.count(known->second) != 0;
    if (!given_to_another) port["nodePort"] = known->second;
  }
}
}  // namespace

void drop_disabled_fields(Json& service, const Json* old, const FeatureGates& gates) {
  const std::pair<bool, const char*> fields[] = {
      {gates.service_load_balancer_class, "loadBalancerClass"},
      {gates.service_lb_cluster_ip_control, "allocateLoadBalancerClusterIP"},
      {gates.service_lb_health_check_node_port_control, "allocateLoadBalancerHCNodePort"},
      {gates.load_balancer_status_improvements, "requiredLoadBalancerFeatures"}};
  for (const auto& [enabled, field] : fields) {
    const bool in_use = old != nullptr && find(*old, {"spec", field}) != nullptr;
    if (!enabled && !in_use) service["spec"].erase(field);
  }
}

void drop_type_dependent_fields(Json& service, const Json& old) {
  auto& spec = service["spec"];
  if (needs_cluster_ip(old) && !needs_cluster_ip(service)) {
    if (same_spec_field(service, old, "clusterIPs")) {
      spec.erase("clusterIP");
      spec.erase("clusterIPs");
    }
    drop_if_same(service, old, "ipFamilies");
    drop_if_same(service, old, "ipFamilyPolicy");
  }
  if (needs_node_ports(old) && !needs_node_ports(service) &&
      node_ports(old) == node_ports(service) && spec.contains("ports"))
    for (auto& port : spec["ports"]) port.erase("nodePort");
  if (needs_health_check(old) && !needs_health_check(service))
    drop_if_same(service, old, "healthCheckNodePort");
  if (externally_accessible(old) && !externally_accessible(service))
    drop_if_same(service, old, "externalTrafficPolicy");
  if (is_type(service, "LoadBalancer")) return;
  // What the provider reported is no longer true once the type changes.
  service["status"]["loadBalancer"] = Json::object();
  if (!is_type(old, "LoadBalancer")) return;
  for (const char* field :
       {"allocateLoadBalancerNodePorts", "allocateLoadBalancerClusterIP",
        "allocateLoadBalancerHCNodePort", "loadBalancerClass", "requiredLoadBalancerFeatures"})
    drop_if_same(service, old, field);
}

void default_service(Json& service, const FeatureGates& gates) {
  auto& spec = service["spec"];
  default_affinity(spec);
  set_default(spec, "type", "ClusterIP");
  if (spec.contains("ports"))
    for (auto& port : spec["ports"]) default_port(port);
  if (externally_accessible(service)) set_default(spec, "externalTrafficPolicy", "Cluster");
  if (!is_type(service, "ExternalName")) set_default(spec, "internalTrafficPolicy", "Cluster");
  if (!is_type(service, "LoadBalancer")) return;
  set_default(spec, "allocateLoadBalancerNodePorts", true);
  if (gates.service_lb_cluster_ip_control) set_default(spec, "allocateLoadBalancerClusterIP", true);
  if (gates.service_lb_health_check_node_port_control)
    set_default(spec, "allocateLoadBalancerHCNodePort", true);
}

void keep_allocated_values(Json& service, const Json& old) {
  auto& spec = service["spec"];
  const auto keep = [&](const char* field) {
    if (!spec.contains(field) && find(old, {"spec", field}) != nullptr)
      spec[field] = *find(old, {"spec", field});
  };
  if (needs_cluster_ip(old) && needs_cluster_ip(service)) {
    keep("clusterIP");
    keep("clusterIPs");
  }
  // With allocateLoadBalancerNodePorts false, a client releases a node port by omitting it.
  if (allocates_node_ports(old) && allocates_node_ports(service) && spec.contains("ports"))
    keep_node_ports(service, old);
  // KEP-4144: likewise with allocateLoadBalancerHCNodePort.
  if (needs_health_check(old) && needs_health_check(service) &&
      allocates_health_check_port(service))
    keep("healthCheckNodePort");
}

void normalize_cluster_ips(Json& service, const Json* old) {
  auto& spec = service["spec"];
  const auto ip = text_at(spec, {"clusterIP"});
  if (old == nullptr) {
    // clusterIPs without clusterIP is left for validation to reject.
    if (!ip.empty() && !spec.contains("clusterIPs")) spec["clusterIPs"] = Json::array({ip});
    return;
  }
  // A client that changed only clusterIP means clusterIPs[0]. If it changed both, validation
  // compares them.
  const auto old_ip = text_at(*old, {"spec", "clusterIP"});
  if (ip == old_ip || !same_spec_field(service, *old, "clusterIPs")) return;
  if (ip.empty())
    spec.erase("clusterIPs");
  else
    spec["clusterIPs"] = Json::array({ip});
}

}  // namespace kindlb::apiserver
