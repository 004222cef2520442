#pragma once
// What the API makes of a Service that somebody wrote: defaults, fields that a gate or a change of
// type takes away, allocations, validation. Functions over JSON that decode() has checked, so types
// are known to be right. The order of calls is the real server's; prepare_service holds it.

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
/// Whether it is reached from outside: node ports, load balancer or external IPs.
bool externally_accessible(const Json& service);
bool needs_cluster_ip(const Json& service);
bool needs_node_ports(const Json& service);
/// Type LoadBalancer with externalTrafficPolicy Local.
bool needs_health_check(const Json& service);
/// False only for a LoadBalancer that opted out (KEP-3622, KEP-4144,
/// allocateLoadBalancerNodePorts).
bool allocates_cluster_ip(const Json& service);
bool allocates_health_check_port(const Json& service);
bool allocates_node_ports(const Json& service);

/// The value of spec.`field`; null when it is absent.
const Json& spec_field(const Json& service, const char* field);
bool same_spec_field(const Json& a, const Json& b, const char* field);
/// The node ports of its ports, without the one for health checks.
std::set<int> node_ports(const Json& service);
/// "IPv4" or "IPv6"
core::IpFamily family_named(const std::string& name);
bool contains(const std::vector<std::string>& list, const std::string& text);

/// Everything that creation (`old` null) or an update of the whole object does to it.
ApiResult<Json> prepare_service(Json service, const Json* old, const FeatureGates& gates,
                                AllocationTransaction& transaction);
/// The same for /status, which changes nothing but status and metadata.
ApiResult<Json> prepare_service_status(Json service, const Json& old, const FeatureGates& gates);
/// Gives back all it holds.
void release_service(const Json& service, AllocationTransaction& transaction);
/// Takes what a stored Service holds: after loading a file.
void claim_service(const Json& service, AllocationTransaction& transaction);

// service_defaults.cpp
void drop_disabled_fields(Json& service, const Json* old, const FeatureGates& gates);
void drop_type_dependent_fields(Json& service, const Json& old);
void default_service(Json& service, const FeatureGates& gates);
void keep_allocated_values(Json& service, const Json& old);
void normalize_cluster_ips(Json& service, const Json* old);

// service_families.cpp
/// ipFamilyPolicy and ipFamilies, from what was asked and what the cluster has.
FieldErrors fill_ip_families(Json& service, const Json* old, const AllocationTransaction& cluster);

// service_allocation.cpp
/// Nothing: done.
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
