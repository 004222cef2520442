#pragma once
// One test of the plan. The table of all is in catalogue.cpp.

#include "kindlb/conformance/report.hpp"

#include <string>
#include <vector>

namespace kindlb::conformance {

class Scene;

struct Test {
  std::string name;
  std::string title;
  bool optional = false;              ///< a provider may refuse it
  std::vector<std::string> features;  ///< set as requiredLoadBalancerFeatures
  bool own_pods = false;              ///< starts and ends pods itself
  std::size_t nodes = 1;              ///< that must take them
  Outcome (*body)(Scene&) = nullptr;
};

const std::vector<Test>& all_tests();

// Required of every provider.
Outcome tcp_type_and_ports(Scene& scene);
Outcome cleanup_finalizer(Scene& scene);
Outcome rolling_update_cluster(Scene& scene);
// May be refused.
Outcome without_node_ports(Scene& scene);
Outcome udp_type_and_ports(Scene& scene);
Outcome udp_pod_cycle_other_node(Scene& scene);
Outcome udp_pod_cycle_same_node(Scene& scene);
// externalTrafficPolicy: Local
Outcome rolling_update_local(Scene& scene);
Outcome local_only_nodes_with_endpoints(Scene& scene);
Outcome local_all_nodes_with_endpoints(Scene& scene);
Outcome local_connects(Scene& scene);
Outcome local_source_ip(Scene& scene);
Outcome local_from_pods(Scene& scene);
Outcome local_from_pods_source_ip(Scene& scene);
// Features that can be required.
Outcome affinity_cluster(Scene& scene);
Outcome affinity_local(Scene& scene);
Outcome affinity_switch_cluster(Scene& scene);
Outcome affinity_switch_local(Scene& scene);
Outcome source_ranges(Scene& scene);
// New in the KEP.
Outcome dual_stack(Scene& scene);
Outcome mixed_protocols(Scene& scene);
Outcome mixed_protocols_one_port(Scene& scene);
Outcome class_ignored(Scene& scene);
// The KEP's rules for providers themselves.
Outcome conditions_life_cycle(Scene& scene);
Outcome unknown_feature_refused(Scene& scene);

}  // namespace kindlb::conformance
