#include "service/service.hpp"

#include "kindlb/core/ip.hpp"
#include "schema/resources.hpp"

#include <algorithm>

namespace kindlb::apiserver {

namespace {
/// 422 with all errors.
StatusError refuse(const Json& service, FieldErrors errors) {
  return invalid(services(), text_at(service, {"metadata", "name"}), errors.take());
}

/// All ports of the node port range that it holds, that for health checks included.
std::set<int> allocated_ports(const Json& service) {
  auto out = node_ports(service);
  if (const auto number = number_at(service, {"spec", "healthCheckNodePort"}); number != 0)
    out.insert(static_cast<int>(number));
  return out;
}

/// KEP-1435 added port statuses and conditions. With its gate off, each is dropped unless the
/// stored Service has some. Conditions stay while KEP-4631's gate is on, which needs them; that
/// gate alone being off drops none ("Service.Status.Conditions already exists"; it governs the
/// cloud provider).
void drop_disabled_status(Json& service, const Json& old, const FeatureGates& gates) {
  if (gates.mixed_protocol_lb_service) return;
  if (!gates.load_balancer_status_improvements && list_at(old, {"status", "conditions"}).empty())
    erase_at(service, {"status"}, "conditions");
  for (const auto& ingress : list_at(old, {"status", "loadBalancer", "ingress"}))
    if (ingress.contains("ports")) return;
  if (find(service, {"status", "loadBalancer", "ingress"}) == nullptr) return;
  for (auto& ingress : service["status"]["loadBalancer"]["ingress"]) ingress.erase("ports");
}

void default_ip_modes(Json& service) {
  if (list_at(service, {"status", "loadBalancer", "ingress"}).empty()) return;
  for (auto& ingress : service["status"]["loadBalancer"]["ingress"])
    if (ingress.contains("ip") && !ingress.contains("ipMode")) ingress["ipMode"] = "VIP";
}
}  // namespace

const Json& spec_field(const Json& service, const char* field) {
  static const Json kNone;
  const auto* value = find(service, {"spec", field});
  return value == nullptr ? kNone : *value;
}

bool same_spec_field(const Json& a, const Json& b, const char* field) {
  return spec_field(a, field) == spec_field(b, field);
}

std::set<int> node_ports(const Json& service) {
  std::set<int> out;
  for (const auto& port : list_at(service, {"spec", "ports"}))
    if (const auto number = number_at(port, {"nodePort"}); number != 0)
      out.insert(static_cast<int>(number));
  return out;
}

core::IpFamily family_named(const std::string& name) {
  return name == "IPv6" ? core::IpFamily::V6 : core::IpFamily::V4;
}

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool is_type(const Json& service, const char* type) {
  return text_at(service, {"spec", "type"}) == type;
}

bool is_headless(const Json& service) {
  const auto ips = texts_at(service, {"spec", "clusterIPs"});
  return ips.size() == 1 && ips[0] == "None";
}

bool externally_accessible(const Json& service) {
  return is_type(service, "LoadBalancer") || is_type(service, "NodePort") ||
         (is_type(service, "ClusterIP") && !list_at(service, {"spec", "externalIPs"}).empty());
}

bool needs_cluster_ip(const Json& service) {
  return !is_type(service, "ExternalName");
}

bool needs_node_ports(const Json& service) {
  return is_type(service, "NodePort") || is_type(service, "LoadBalancer");
}

bool needs_health_check(const Json& service) {
  return is_type(service, "LoadBalancer") &&
         text_at(service, {"spec", "externalTrafficPolicy"}) == "Local";
}

bool allocates_cluster_ip(const Json& service) {
  return !is_type(service, "LoadBalancer") ||
         optional_bool_at(service, {"spec", "allocateLoadBalancerClusterIP"}).value_or(true);
}

bool allocates_health_check_port(const Json& service) {
  return optional_bool_at(service, {"spec", "allocateLoadBalancerHCNodePort"}).value_or(true);
}

bool allocates_node_ports(const Json& service) {
  if (is_type(service, "NodePort")) return true;
  return is_type(service, "LoadBalancer") &&
         optional_bool_at(service, {"spec", "allocateLoadBalancerNodePorts"}).value_or(true);
}

ApiResult<Json> prepare_service(Json service, const Json* old, const FeatureGates& gates,
                                AllocationTransaction& transaction) {
  if (!service.contains("spec")) service["spec"] = Json::object();
  service["status"] =
      old == nullptr ? Json{{"loadBalancer", Json::object()}} : map_at(*old, {"status"});
  // The order is that of kube-apiserver: drop and default fields, restore allocated values, decide
  // on IP families, allocate, validate. Allocation precedes validation there, too: errors of a
  // request that is wrong in both ways depend on it. The caller's transaction undoes what was
  // allocated.
  drop_disabled_fields(service, old, gates);
  default_service(service, gates);
  if (old != nullptr) {
    drop_type_dependent_fields(service, *old);
    keep_allocated_values(service, *old);
  }
  normalize_cluster_ips(service, old);
  auto errors = fill_ip_families(service, old, transaction);
  if (!errors.empty()) return refuse(service, std::move(errors));
  if (auto error = allocate_service(service, old, transaction)) return *error;
  errors = validate_service(service, old, gates);
  if (!errors.empty()) return refuse(service, std::move(errors));
  // Cleared after validation, which rejects other values than Cluster and Local.
  if (is_type(service, "ExternalName")) service["spec"].erase("internalTrafficPolicy");
  return service;
}

ApiResult<Json> prepare_service_status(Json service, const Json& old, const FeatureGates& gates) {
  if (is_type(service, "LoadBalancer")) default_ip_modes(service);
  service["spec"] = map_at(old, {"spec"});
  if (!service.contains("status")) service["status"] = Json::object();
  if (!service["status"].contains("loadBalancer"))
    service["status"]["loadBalancer"] = Json::object();
  drop_disabled_status(service, old, gates);
  auto errors = validate_service_status(service);
  if (!errors.empty()) return refuse(service, std::move(errors));
  return service;
}

void release_service(const Json& service, AllocationTransaction& transaction) {
  for (const int port : allocated_ports(service)) transaction.release_port(port);
  for (const auto& text : texts_at(service, {"spec", "clusterIPs"}))
    if (const auto address = core::IpAddress::parse(text)) transaction.release_ip(*address);
}

void claim_service(const Json& service, AllocationTransaction& transaction) {
  for (const int port : allocated_ports(service)) transaction.allocate_port(port);
  for (const auto& text : texts_at(service, {"spec", "clusterIPs"}))
    if (const auto address = core::IpAddress::parse(text)) transaction.allocate_ip(*address);
}

}  // namespace kindlb::apiserver
