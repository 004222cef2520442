#pragma once
// Which of the proposals' fields the embedded API server knows. All on: it is there to try them.

#include "kindlb/core/result.hpp"

#include <string>

namespace kindlb::apiserver {

struct FeatureGates {
  bool load_balancer_status_improvements = true;          ///< KEP-4631
  bool service_load_balancer_class = true;                ///< KEP-1959
  bool mixed_protocol_lb_service = true;                  ///< KEP-1435
  bool service_lb_cluster_ip_control = true;              ///< KEP-3622
  bool service_lb_health_check_node_port_control = true;  ///< KEP-4144

  bool operator==(const FeatureGates&) const = default;

  /// "ServiceLoadBalancerClass=false,MixedProtocolLBService=true"
  static core::Result<FeatureGates> parse(const std::string& text);
};

}  // namespace kindlb::apiserver
