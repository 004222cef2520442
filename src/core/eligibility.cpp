#include "kindlb/core/eligibility.hpp"

#include "kindlb/core/conditions.hpp"
#include "kindlb/core/hash.hpp"

#include <algorithm>
#include <string_view>

namespace kindlb::core {

namespace {

constexpr char kMarkSeparator = '.';  ///< a hash has none

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

const std::string* find_mark(const Service& service) {
  const auto found = service.annotations.find(kObservedAnnotation);
  return found == service.annotations.end() ? nullptr : &found->second;
}

/// Return whether the Service's mark names its uid.
bool has_own_mark(const Service& service) {
  const auto* mark = find_mark(service);
  return mark != nullptr && *mark == mark_of(service, mark_hash(*mark));
}

/// Return whether an earlier release, whose marks had no uid, wrote to the Service: its first write
/// brought the mark, the finalizer and both conditions at once.
bool has_old_mark(const Service& service) {
  const auto* mark = find_mark(service);
  const auto has = [&](const char* type) {
    return find_condition(service.status.conditions, type) != nullptr;
  };
  return mark != nullptr && mark->find(kMarkSeparator) == std::string::npos &&
         has_finalizer(service) && has(kServingCondition) && has(kProvisioningCondition);
}

/// Return whether a Service that we would not serve as it is now was ours. Another provider may
/// write the same conditions, so beside another class an old mark proves nothing.
bool was_ours_before(const Service& service) {
  return has_own_mark(service) ||
         (service.spec.type != ServiceType::LoadBalancer && has_old_mark(service));
}

}  // namespace

Claim claim_of(const Service& service, const Policy& policy) {
  const bool wanted =
      service.spec.type == ServiceType::LoadBalancer && class_is_ours(service, policy);
  if (wanted && !service.deleting) return Claim::Ours;
  // A copy that is deleted before it was served may have a copied finalizer as well, which nobody
  // else removes: here any mark counts.
  const bool ours = wanted ? find_mark(service) != nullptr : was_ours_before(service);
  if (!ours) return Claim::NotOurs;
  return service.deleting ? Claim::ReleaseDeleted : Claim::ReleaseChanged;
}

bool was_ours(const Service& service) {
  return has_own_mark(service) || has_old_mark(service);
}

std::string mark_of(const Service& service, const std::string& hash) {
  return hash + kMarkSeparator + service.uid;
}

std::string mark_hash(const std::string& mark) {
  return mark.substr(0, mark.find(kMarkSeparator));
}

std::string last_observed(const Service& service) {
  return was_ours(service) ? mark_hash(*find_mark(service)) : std::string();
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
