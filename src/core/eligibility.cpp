#include "kindlb/core/eligibility.hpp"

#include "kindlb/core/hash.hpp"

#include <algorithm>
#include <string_view>

namespace kindlb::core {

namespace {

bool class_is_ours(const Service& service, const Policy& policy) {
  const auto& wanted = service.spec.load_balancer_class;
  if (!wanted || wanted->empty()) return !policy.require_class;
  return std::find(policy.classes.begin(), policy.classes.end(), *wanted) != policy.classes.end();
}

/// Return whether an annotation is part of the observed hash. The hash itself is not, of course.
bool is_relevant_annotation(std::string_view annotation, const Policy& policy) {
  return (annotation.starts_with("kindlb.dev/") && annotation != kObservedAnnotation) ||
         annotation == "service.beta.kubernetes.io/load-balancer-source-ranges" ||
         annotation == policy.capabilities.mixed_protocols_annotation;
}

void add_ports(Hasher& hash, const std::vector<ServicePort>& ports) {
  hash.add(ports.size());
  for (const auto& port : ports)
    hash.add(port.name)
        .add(name_of(port.protocol))
        .add(port.port)
        .add(port.target_port)
        .add(port.node_port);
}

void add_list(Hasher& hash, const std::vector<std::string>& list) {
  hash.add(list.size());
  for (const auto& item : list) hash.add(item);
}

/// Add the fields that earlier releases did not hash, each only where it says more than its
/// absence, and under its name: a Service that uses none of them keeps the hash it was given
/// before.
void add_later_fields(Hasher& hash, const ServiceSpec& spec) {
  if (!spec.allocate_cluster_ip) hash.add("allocateLoadBalancerClusterIP");
  if (!spec.allocate_health_check_node_port) hash.add("allocateLoadBalancerHCNodePort");
  if (!spec.traffic_distribution.empty())
    hash.add("trafficDistribution").add(spec.traffic_distribution);
  for (const auto& port : spec.ports)
    if (!port.app_protocol.empty())
      hash.add("appProtocol").add(port_label(port.protocol, port.port)).add(port.app_protocol);
}

}  // namespace

Claim claim_of(const Service& service, const Policy& policy) {
  const bool wanted =
      service.spec.type == ServiceType::LoadBalancer && class_is_ours(service, policy);
  if (service.deleting) return was_ours(service) ? Claim::ReleaseDeleted : Claim::NotOurs;
  if (wanted) return Claim::Ours;
  return was_ours(service) ? Claim::ReleaseChanged : Claim::NotOurs;
}

bool was_ours(const Service& service) {
  return service.annotations.contains(kObservedAnnotation);
}

bool has_finalizer(const Service& service) {
  return std::find(service.finalizers.begin(), service.finalizers.end(), kFinalizer) !=
         service.finalizers.end();
}

/// Lists are hashed with their length and every field is delimited (Hasher), so that no two
/// different specs are fed to the hash as the same bytes. Fields that do not concern a load
/// balancer (selector, clusterIP, labels) are left out: changing them must not write status
/// (docs/contract.md §2).
std::string observed_hash(const Service& service, const Policy& policy) {
  const auto& spec = service.spec;
  Hasher hash;
  hash.add(static_cast<std::uint64_t>(spec.type)).add(spec.load_balancer_class.value_or(""));
  add_ports(hash, spec.ports);
  hash.add(spec.ip_families.size());
  for (const auto family : spec.ip_families) hash.add(name_of(family));
  hash.add(static_cast<std::uint64_t>(spec.family_policy))
      .add(static_cast<std::uint64_t>(spec.affinity))
      .add(std::to_string(spec.affinity_seconds))
      .add(spec.load_balancer_ip)
      .add(static_cast<std::uint64_t>(spec.external_traffic_policy))
      .add(spec.allocate_node_ports ? 1U : 0U)
      .add(spec.health_check_node_port);
  add_list(hash, spec.source_ranges);
  add_list(hash, spec.required_features);
  for (const auto& [name, value] : service.annotations)
    if (is_relevant_annotation(name, policy)) hash.add(name).add(value);
  add_later_fields(hash, spec);
  return hash.text();
}

}  // namespace kindlb::core
