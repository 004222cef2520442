#include "kindlb/apiserver/feature_gates.hpp"

#include <map>
#include <sstream>

namespace kindlb::apiserver {

namespace {
using Member = bool FeatureGates::*;

/// Sorted by name, as the error message lists them.
const std::map<std::string, Member>& gates_by_name() {
  static const std::map<std::string, Member> kGates{
      {"LoadBalancerStatusImprovements", &FeatureGates::load_balancer_status_improvements},
      {"MixedProtocolLBService", &FeatureGates::mixed_protocol_lb_service},
      {"ServiceLBClusterIPControl", &FeatureGates::service_lb_cluster_ip_control},
      {"ServiceLBHealthCheckNodePortControl",
       &FeatureGates::service_lb_health_check_node_port_control},
      {"ServiceLoadBalancerClass", &FeatureGates::service_load_balancer_class}};
  return kGates;
}

std::string known() {
  std::string out;
  for (const auto& [name, member] : gates_by_name()) out += (out.empty() ? "" : ", ") + name;
  return out;
}
}  // namespace

core::Result<FeatureGates> FeatureGates::parse(const std::string& text) {
  FeatureGates out;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const auto equals = part.find('=');
    const auto name = part.substr(0, equals);
    const auto value = equals == std::string::npos ? "" : part.substr(equals + 1);
    const auto found = gates_by_name().find(name);
    if (found == gates_by_name().end())
      return core::Error{core::ErrorKind::Invalid, "parse feature gate '" + name + "'",
                         "unknown feature gate; known gates: " + known()};
    if (value != "true" && value != "false")
      return core::Error{core::ErrorKind::Invalid, "parse feature gate '" + part + "'",
                         "use " + name + "=true or " + name + "=false"};
    out.*(found->second) = value == "true";
  }
  return out;
}

}  // namespace kindlb::apiserver
