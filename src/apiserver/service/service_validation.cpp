#include "kindlb/core/ip.hpp"
#include "service/service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace kindlb::apiserver {

namespace {
/// "spec.ports[0].name"
std::string at(const char* list, std::size_t index, const char* field = "") {
  return fmt::format("spec.{}[{}]{}{}", list, index, *field == '\0' ? "" : ".", field);
}

/// Require one of `choices`.
void check_choice(const Json& service, const char* field, const std::vector<std::string>& choices,
                  FieldErrors& errors) {
  const auto value = text_at(service, {"spec", field});
  const auto path = std::string("spec.") + field;
  if (value.empty())
    errors.required(path);
  else if (!contains(choices, value))
    errors.unsupported(path, value, choices);
}

/// A port number, or an IANA service name (RFC 6335).
void check_target(const Json& target, const std::string& path, FieldErrors& errors) {
  if (target.is_number()) {
    const auto why = port_error(target.get<std::int64_t>());
    if (!why.empty()) errors.invalid(path, target, why);
    return;
  }
  const auto name = target.is_string() ? target.get<std::string>() : std::string();
  const bool right_bytes = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-';
  });
  const bool has_letter =
      std::any_of(name.begin(), name.end(), [](unsigned char c) { return std::islower(c) != 0; });
  if (name.size() > 15) errors.invalid(path, target, "must be no more than 15 characters");
  if (name.empty() || !right_bytes)
    errors.invalid(path, target,
                   "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  if (!has_letter) errors.invalid(path, target, "must contain at least one letter (a-z)");
}

/// Names are required as soon as there are several ports, and unique.
void check_port(const Json& port, std::size_t index, bool needs_name, std::set<std::string>& names,
                FieldErrors& errors) {
  const auto name = text_at(port, {"name"});
  if (needs_name && name.empty()) {
    errors.required(at("ports", index, "name"));
  } else if (!name.empty()) {
    const auto why = dns_label_error(name);
    if (!why.empty()) errors.invalid(at("ports", index, "name"), name, why);
    if (!names.insert(name).second) errors.duplicate(at("ports", index, "name"), name);
  }
  const auto number = number_at(port, {"port"});
  if (const auto why = port_error(number); !why.empty())
    errors.invalid(at("ports", index, "port"), number, why);
  const auto protocol = text_at(port, {"protocol"});
  if (!contains({"SCTP", "TCP", "UDP"}, protocol))
    errors.unsupported(at("ports", index, "protocol"), protocol, {"SCTP", "TCP", "UDP"});
  if (const auto* target = find(port, {"targetPort"}))
    check_target(*target, at("ports", index, "targetPort"), errors);
  if (const auto app = text_at(port, {"appProtocol"}); !app.empty())
    if (const auto why = qualified_name_error(app); !why.empty())
      errors.invalid(at("ports", index, "appProtocol"), app, why);
}

void check_ports(const Json& service, FieldErrors& errors) {
  const auto& ports = list_at(service, {"spec", "ports"});
  std::set<std::string> names;
  for (std::size_t i = 0; i < ports.size(); ++i)
    check_port(ports[i], i, ports.size() > 1, names, errors);
  std::set<std::pair<std::string, std::int64_t>> node_ports;
  std::set<std::pair<std::string, std::int64_t>> seen;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const auto protocol = text_at(ports[i], {"protocol"});
    const auto node_port = number_at(ports[i], {"nodePort"});
    if (node_port != 0 && is_type(service, "ClusterIP"))
      errors.forbidden(at("ports", i, "nodePort"), "may not be used when `type` is 'ClusterIP'");
    if (node_port != 0 && !node_ports.insert({protocol, node_port}).second)
      errors.duplicate(at("ports", i, "nodePort"), node_port);
  }
  // In a pass of its own: errors come in the order of kube-apiserver's checks.
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const auto protocol = text_at(ports[i], {"protocol"});
    const auto port = number_at(ports[i], {"port"});
    if (!seen.insert({protocol, port}).second)
      errors.duplicate(at("ports", i), Json{{"port", port}, {"protocol", protocol}});
  }
}

void check_external_name(const Json& service, FieldErrors& errors) {
  for (const char* field : {"clusterIPs", "ipFamilies", "ipFamilyPolicy"})
    if (find(service, {"spec", field}) != nullptr)
      errors.forbidden(std::string("spec.") + field, "may not be set for ExternalName services");
  auto name = text_at(service, {"spec", "externalName"});
  if (name.ends_with('.')) name.pop_back();
  if (name.empty())
    errors.required("spec.externalName");
  else if (const auto why = dns_subdomain_error(name); !why.empty())
    errors.invalid("spec.externalName", name, why);
}

void check_type(const Json& service, FieldErrors& errors) {
  if (list_at(service, {"spec", "ports"}).empty() && !is_headless(service) &&
      !is_type(service, "ExternalName"))
    errors.required("spec.ports");
  for (const char* type : {"LoadBalancer", "NodePort"})
    if (is_type(service, type) && is_headless(service))
      errors.invalid("spec.clusterIPs[0]", "None",
                     fmt::format("may not be set to 'None' for {} services", type));
  if (is_type(service, "ExternalName")) check_external_name(service, errors);
}

void check_affinity(const Json& service, FieldErrors& errors) {
  check_choice(service, "sessionAffinity", {"ClientIP", "None"}, errors);
  if (text_at(service, {"spec", "sessionAffinity"}) != "ClientIP") return;
  const auto seconds =
      number_at(service, {"spec", "sessionAffinityConfig", "clientIP", "timeoutSeconds"});
  if (seconds <= 0 || seconds > 86400)
    errors.invalid("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds,
                   "must be greater than 0 and less than 86400");
}

void check_external_ips(const Json& service, FieldErrors& errors) {
  const auto ips = texts_at(service, {"spec", "externalIPs"});
  for (std::size_t i = 0; i < ips.size(); ++i)
    if (const auto why = ip_error(ips[i]); !why.empty())
      errors.invalid(at("externalIPs", i), ips[i], why);
}

void check_policies(const Json& service, FieldErrors& errors) {
  if (externally_accessible(service))
    check_choice(service, "externalTrafficPolicy", {"Cluster", "Local"}, errors);
  else if (const auto policy = text_at(service, {"spec", "externalTrafficPolicy"}); !policy.empty())
    errors.invalid("spec.externalTrafficPolicy", policy,
                   "may only be set for externally-accessible services");
  const auto internal_policy = text_at(service, {"spec", "internalTrafficPolicy"});
  if (!internal_policy.empty() || !is_type(service, "ExternalName"))
    check_choice(service, "internalTrafficPolicy", {"Cluster", "Local"}, errors);
  const auto distribution = text_at(service, {"spec", "trafficDistribution"});
  const std::vector<std::string> known{"PreferClose", "PreferSameZone", "PreferSameNode"};
  if (!distribution.empty() && !contains(known, distribution))
    errors.unsupported("spec.trafficDistribution", distribution, known);
}
}  // namespace

void validate_cluster_ips(const Json& service, FieldErrors& errors) {
  if (!needs_cluster_ip(service)) return;
  const auto ip = text_at(service, {"spec", "clusterIP"});
  const auto& list = list_at(service, {"spec", "clusterIPs"});
  const auto ips = texts_at(service, {"spec", "clusterIPs"});
  if (!ip.empty() && ips.empty())
    errors.required("spec.clusterIPs");
  else if (!ip.empty() && ips[0] != ip)
    errors.invalid("spec.clusterIPs", list, "first value must match `clusterIP`");
  else if (ip.empty() && !ips.empty())
    errors.invalid("spec.clusterIPs", list, "must be empty when `clusterIP` is not specified");

  const auto families = texts_at(service, {"spec", "ipFamilies"});
  std::set<std::string> seen;
  for (std::size_t i = 0; i < families.size(); ++i) {
    if (!contains({"IPv4", "IPv6"}, families[i]))
      errors.unsupported(at("ipFamilies", i), families[i], {"IPv4", "IPv6"});
    if (!seen.insert(families[i]).second) errors.duplicate(at("ipFamilies", i), families[i]);
  }
  const auto policy = text_at(service, {"spec", "ipFamilyPolicy"});
  const std::vector<std::string> policies{"PreferDualStack", "RequireDualStack", "SingleStack"};
  if (!policy.empty() && !contains(policies, policy))
    errors.unsupported("spec.ipFamilyPolicy", policy, policies);

  // Families are compared only if all addresses parse.
  bool broken = false;
  for (std::size_t i = 0; i < ips.size(); ++i) {
    if (i == 0 && ips[i] == "None") {
      broken = ips.size() > 1;
      if (broken)
        errors.invalid("spec.clusterIPs", list, "'None' must be the first and only value");
    } else if (const auto why = ip_error(ips[i]); !why.empty()) {
      errors.invalid(at("clusterIPs", i), ips[i], why);
      broken = true;
    }
  }
  if (ips.size() > 2) errors.invalid("spec.clusterIPs", list, "may only hold up to 2 values");
  if (broken || is_headless(service)) return;
  std::set<core::IpFamily> of_ips;
  for (std::size_t i = 0; i < ips.size(); ++i) {
    const auto family = core::IpAddress::parse(ips[i])->family();
    if (!of_ips.insert(family).second)
      errors.invalid("spec.clusterIPs", list, "may specify no more than one IP for each IP family");
    if (i < families.size() && families[i] != core::name_of(family))
      errors.invalid(
          at("clusterIPs", i), ips[i],
          fmt::format("expected an {} value as indicated by `ipFamilies[{}]`", families[i], i));
  }
}

FieldErrors validate_service(const Json& service, const Json* old, const FeatureGates& gates) {
  FieldErrors errors;
  if (old != nullptr) validate_service_update(service, *old, errors);
  check_type(service, errors);
  check_ports(service, errors);
  validate_labels(map_at(service, {"spec", "selector"}), "spec.selector", errors);
  check_affinity(service, errors);
  validate_cluster_ips(service, errors);
  check_external_ips(service, errors);
  check_choice(service, "type", {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"}, errors);
  validate_load_balancer(service, old, gates, errors);
  check_policies(service, errors);
  return errors;
}

}  // namespace kindlb::apiserver
