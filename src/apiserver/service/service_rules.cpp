// Validation of load balancer fields, of updates and of the status.

#include "kindlb/base/text.hpp"
#include "kindlb/core/ip.hpp"
#include "service/service.hpp"

#include <fmt/format.h>

#include <set>
#include <sstream>

namespace kindlb::apiserver {

namespace {
constexpr const char* kOnlyLoadBalancer = "may only be used when `type` is 'LoadBalancer'";
constexpr const char* kRangesAnnotation = "service.beta.kubernetes.io/load-balancer-source-ranges";

bool mixes_protocols(const Json& service) {
  std::set<std::string> protocols;
  for (const auto& port : list_at(service, {"spec", "ports"}))
    protocols.insert(text_at(port, {"protocol"}));
  return protocols.size() > 1;
}

/// The annotation is an older form of the field and counts only without it.
void check_source_ranges(const Json& service, FieldErrors& errors) {
  const auto ranges = texts_at(service, {"spec", "loadBalancerSourceRanges"});
  // The capital is kube-apiserver's.
  const std::string field = "spec.LoadBalancerSourceRanges";
  if (!ranges.empty() && !is_type(service, "LoadBalancer"))
    errors.forbidden(field, kOnlyLoadBalancer);
  for (std::size_t i = 0; i < ranges.size(); ++i)
    if (const auto why = cidr_error(std::string(base::trimmed(ranges[i]))); !why.empty())
      errors.invalid(fmt::format("{}[{}]", field, i), std::string(base::trimmed(ranges[i])), why);
  const auto* annotation = find(service, {"metadata", "annotations", kRangesAnnotation});
  if (!ranges.empty() || annotation == nullptr) return;
  const auto path = fmt::format("metadata.annotations[{}]", kRangesAnnotation);
  if (!is_type(service, "LoadBalancer")) errors.forbidden(path, kOnlyLoadBalancer);
  std::istringstream parts(annotation->get<std::string>());
  for (std::string part; std::getline(parts, part, ',');)
    if (const auto why = cidr_error(std::string(base::trimmed(part))); !why.empty())
      errors.invalid(path, std::string(base::trimmed(part)), why);
}

void check_class(const Json& service, FieldErrors& errors) {
  const auto name = text_at(service, {"spec", "loadBalancerClass"});
  if (name.empty()) return;
  if (!is_type(service, "LoadBalancer"))
    errors.forbidden("spec.loadBalancerClass", kOnlyLoadBalancer);
  else if (const auto why = qualified_name_error(name); !why.empty())
    errors.invalid("spec.loadBalancerClass", name, why);
}

/// KEP-4631: unknown features are valid. The provider reports those that it does not implement.
void check_features(const Json& service, FieldErrors& errors) {
  const auto features = texts_at(service, {"spec", "requiredLoadBalancerFeatures"});
  if (features.empty()) return;
  if (!is_type(service, "LoadBalancer"))
    errors.forbidden("spec.requiredLoadBalancerFeatures", kOnlyLoadBalancer);
  std::set<std::string> seen;
  for (std::size_t i = 0; i < features.size(); ++i) {
    const auto path = fmt::format("spec.requiredLoadBalancerFeatures[{}]", i);
    if (features[i].empty()) errors.required(path);
    if (!seen.insert(features[i]).second) errors.duplicate(path, features[i]);
  }
}

/// KEP-4144: required unless allocation is switched off.
void check_health_check_port(const Json& service, FieldErrors& errors) {
  const auto port = number_at(service, {"spec", "healthCheckNodePort"});
  if (!needs_health_check(service)) {
    if (port != 0)
      errors.invalid("spec.healthCheckNodePort", port,
                     "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is "
                     "'Local'");
  } else if (port == 0) {
    if (allocates_health_check_port(service)) errors.required("spec.healthCheckNodePort");
  } else if (const auto why = port_error(port); !why.empty()) {
    errors.invalid("spec.healthCheckNodePort", port, why);
  }
}

void check_cluster_ip_update(const Json& service, const Json& old, FieldErrors& errors) {
  const auto before = texts_at(old, {"spec", "clusterIPs"});
  const auto now = texts_at(service, {"spec", "clusterIPs"});
  if (is_headless(service) && is_headless(old)) return;
  const auto& list = spec_field(service, "clusterIPs");
  if (now.empty() && !before.empty())
    errors.invalid("spec.clusterIPs[0]", list, "primary clusterIP can not be unset");
  // The secondary may be added or released, not replaced.
  for (std::size_t i = 0; i < before.size() && i < now.size(); ++i)
    if (before[i] != now[i])
      errors.invalid(fmt::format("spec.clusterIPs[{}]", i), list, "may not change once set");
  if (before.size() == 2 && now.size() == 1 &&
      text_at(service, {"spec", "ipFamilyPolicy"}) != "SingleStack")
    errors.invalid("spec.ipFamilyPolicy", spec_field(service, "ipFamilyPolicy"),
                   "must be set to 'SingleStack' when releasing the secondary clusterIP");
}

void check_family_update(const Json& service, const Json& old, FieldErrors& errors) {
  if (is_headless(service) || is_headless(old)) return;
  const auto before = texts_at(old, {"spec", "ipFamilies"});
  const auto now = texts_at(service, {"spec", "ipFamilies"});
  for (std::size_t i = 0; i < before.size() && i < now.size(); ++i)
    if (before[i] != now[i])
      errors.invalid("spec.ipFamilies[0]", spec_field(service, "ipFamilies"),
                     "may not change once set");
}

/// loadBalancerClass is immutable while the type is LoadBalancer (KEP-1959), and so is an allocated
/// healthCheckNodePort, which can only be released (KEP-4144).
void check_load_balancer_update(const Json& service, const Json& old, FieldErrors& errors) {
  const bool both = is_type(old, "LoadBalancer") && is_type(service, "LoadBalancer");
  if (both && spec_field(old, "loadBalancerClass") != spec_field(service, "loadBalancerClass"))
    errors.invalid("spec.loadBalancerClass", spec_field(service, "loadBalancerClass"),
                   "may not change once set");
  // KEP-3622: the opt-out is rejected once a cluster IP is assigned.
  const bool opted_out = is_type(old, "LoadBalancer") && !allocates_cluster_ip(old);
  if (!allocates_cluster_ip(service) && !opted_out && !list_at(old, {"spec", "clusterIPs"}).empty())
    errors.invalid("spec.allocateLoadBalancerClusterIP", false,
                   "may not be set to 'false' once a clusterIP is assigned");
  if (!needs_health_check(old) || !needs_health_check(service)) return;
  const auto before = number_at(old, {"spec", "healthCheckNodePort"});
  const auto now = number_at(service, {"spec", "healthCheckNodePort"});
  const bool given_back = now == 0 && !allocates_health_check_port(service);
  if (before != 0 && before != now && !given_back)
    errors.forbidden("spec.healthCheckNodePort", "field is immutable");
}

/// ipMode (KEP-1860) and ip belong together; hostname is independent of them.
void check_ingress(const Json& ingress, const std::string& path, FieldErrors& errors) {
  const auto ip = text_at(ingress, {"ip"});
  const auto mode = text_at(ingress, {"ipMode"});
  const auto hostname = text_at(ingress, {"hostname"});
  if (!ip.empty())
    if (const auto why = ip_error(ip); !why.empty()) errors.invalid(path + ".ip", ip, why);
  if (mode.empty() && !ip.empty())
    errors.required(path + ".ipMode", "must be specified when `ip` is set");
  if (!mode.empty() && ip.empty())
    errors.forbidden(path + ".ipMode", "may not be specified when `ip` is not set");
  else if (!mode.empty() && mode != "VIP" && mode != "Proxy")
    errors.unsupported(path + ".ipMode", mode, {"Proxy", "VIP"});
  if (hostname.empty()) return;
  if (const auto why = dns_subdomain_error(hostname); !why.empty())
    errors.invalid(path + ".hostname", hostname, why);
  if (core::IpAddress::parse(hostname))
    errors.invalid(path + ".hostname", hostname, "must be a DNS name, not an IP address");
}
}  // namespace

void validate_load_balancer(const Json& service, const Json* old, const FeatureGates& gates,
                            FieldErrors& errors) {
  check_source_ranges(service, errors);
  for (const char* field : {"allocateLoadBalancerNodePorts", "allocateLoadBalancerClusterIP",
                            "allocateLoadBalancerHCNodePort"})
    if (find(service, {"spec", field}) != nullptr && !is_type(service, "LoadBalancer"))
      errors.forbidden(std::string("spec.") + field, kOnlyLoadBalancer);
  check_class(service, errors);
  check_features(service, errors);
  // KEP-1435: with the gate off, Services with mixed protocols can still be updated.
  const bool was_mixed = old != nullptr && is_type(*old, "LoadBalancer") && mixes_protocols(*old);
  if (is_type(service, "LoadBalancer") && mixes_protocols(service) &&
      !gates.mixed_protocol_lb_service && !was_mixed)
    errors.invalid("spec.ports", spec_field(service, "ports"),
                   "may not contain a mix of protocols when 'type' is 'LoadBalancer'");
  check_health_check_port(service, errors);
}

void validate_service_update(const Json& service, const Json& old, FieldErrors& errors) {
  if (needs_cluster_ip(service) && needs_cluster_ip(old)) {
    check_cluster_ip_update(service, old, errors);
    check_family_update(service, old, errors);
  }
  check_load_balancer_update(service, old, errors);
}

FieldErrors validate_service_status(const Json& service) {
  FieldErrors errors;
  const auto& list = list_at(service, {"status", "loadBalancer", "ingress"});
  if (!list.empty() && !is_type(service, "LoadBalancer")) {
    errors.forbidden("status.loadBalancer.ingress",
                     "may only be used when `spec.type` is 'LoadBalancer'");
    return errors;
  }
  for (std::size_t i = 0; i < list.size(); ++i)
    check_ingress(list[i], fmt::format("status.loadBalancer.ingress[{}]", i), errors);
  return errors;
}

}  // namespace kindlb::apiserver
