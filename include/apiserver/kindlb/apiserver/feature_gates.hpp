#pragma once
// The feature gates of the embedded API server, under the names that kube-apiserver uses or that
// the KEP proposes. All are on by default: the sandbox exists to try these features. As in
// Kubernetes, a disabled gate drops its fields from new objects and keeps them in objects that use
// them already.

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

  /// Parse the value of --feature-gates:
  /// "ServiceLoadBalancerClass=false,MixedProtocolLBService=true". Gates that are not named keep
  /// their default. Invalid: an unknown gate or value.
  static core::Result<FeatureGates> parse(const std::string& text);
};

}  // namespace kindlb::apiserver
