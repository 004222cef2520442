#pragma once
// The registry strategy of Services: defaulting, dropping of fields (disabled gates, changed type),
// allocation and validation, as in pkg/registry/core/service and pkg/apis/core/validation of
// Kubernetes. All functions take JSON that decode() has checked, so field types are known to be
// right. prepare_service() calls them in kube-apiserver's order, which is visible in error
// messages.

#include "json.hpp"
#include "kindlb/apiserver/feature_gates.hpp"
#include "schema/validation.hpp"
#include "service/allocators.hpp"
#include "status_error.hpp"

#include <set>
#include <string>
#include <vector>

namespace kindlb::apiserver {

// service.cpp
bool is_type(const Json& service, const char* type);
bool is_headless(const Json& service);
/// Reachable from outside: by node ports, a load balancer or external IPs.
bool externally_accessible(const Json& service);
bool needs_cluster_ip(const Json& service);
bool needs_node_ports(const Json& service);
/// Needs a health check node port: type LoadBalancer with externalTrafficPolicy Local.
bool needs_health_check(const Json& service);
/// False only for a LoadBalancer with allocateLoadBalancerClusterIP (KEP-3622),
/// allocateLoadBalancerHCNodePort (KEP-4144) or allocateLoadBalancerNodePorts set to false.
bool allocates_cluster_ip(const Json& service);
bool allocates_health_check_port(const Json& service);
bool allocates_node_ports(const Json& service);

/// Return spec.`field`; JSON null: absent.
const Json& spec_field(const Json& service, const char* field);
bool same_spec_field(const Json& a, const Json& b, const char* field);
/// The node ports of its ports, without the one for health checks.
std::set<int> node_ports(const Json& service);
/// "IPv4" or "IPv6"
core::IpFamily family_named(const std::string& name);
bool contains(const std::vector<std::string>& list, const std::string& text);

/// Prepare a Service for storage, on creation if `old` is null, else on update. The status stays
/// that of `old`: it is written through /status only.
ApiResult<Json> prepare_service(Json service, const Json* old, const FeatureGates& gates,
                                AllocationTransaction& transaction);
/// Prepare an update of /status: the spec stays that of `old`.
ApiResult<Json> prepare_service_status(Json service, const Json& old, const FeatureGates& gates);
/// Release all addresses and ports of a deleted Service.
void release_service(const Json& service, AllocationTransaction& transaction);
/// Allocate what a loaded Service has. Duplicates in the file are ignored.
void claim_service(const Json& service, AllocationTransaction& transaction);

// service_defaults.cpp
/// Drop fields of disabled gates, unless `old` uses them.
void drop_disabled_fields(Json& service, const Json* old, const FeatureGates& gates);
/// Drop what the new type does not allow and the client left unchanged, so that a change of `type`
/// alone is valid.
void drop_type_dependent_fields(Json& service, const Json& old);
void default_service(Json& service, const FeatureGates& gates);
/// Copy allocated values that the client omitted: a client that replaces the object without having
/// read it must not lose its cluster IP and node ports.
void keep_allocated_values(Json& service, const Json& old);
/// Derive clusterIPs from clusterIP for clients that know the singular only.
void normalize_cluster_ips(Json& service, const Json* old);

// service_families.cpp
/// Default ipFamilyPolicy and ipFamilies from the request and the families of the cluster
/// (KEP-563).
FieldErrors fill_ip_families(Json& service, const Json* old, const AllocationTransaction& cluster);

// service_allocation.cpp
/// Allocate cluster IPs, node ports and the health check node port. Nothing: done.
std::optional<StatusError> allocate_service(Json& service, const Json* old,
                                            AllocationTransaction& transaction);

// service_validation.cpp, service_rules.cpp
FieldErrors validate_service(const Json& service, const Json* old, const FeatureGates& gates);
void validate_cluster_ips(const Json& service, FieldErrors& errors);
void validate_load_balancer(const Json& service, const Json* old, const FeatureGates& gates,
                            FieldErrors& errors);
void validate_service_update(const Json& service, const Json& old, FieldErrors& errors);
FieldErrors validate_service_status(const Json& service);

}  // namespace kindlb::apiserver
