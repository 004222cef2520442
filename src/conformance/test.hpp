#pragma once
// The description of one test. The table of all tests is in catalogue.cpp; the bodies are in
// tests_*.cpp, grouped by what the KEP demands.

#include "kindlb/conformance/report.hpp"

#include <string>
#include <vector>

namespace kindlb::conformance {

class TestContext;

struct Test {
  std::string name;
  std::string title;
  bool optional = false;              ///< a provider may refuse the Service
  std::vector<std::string> features;  ///< set as requiredLoadBalancerFeatures
  bool own_pods = false;              ///< starts and stops pods of its own
  std::size_t nodes = 1;              ///< schedulable nodes that it needs
  Outcome (*body)(TestContext&) = nullptr;
};

const std::vector<Test>& all_tests();

// Required of every provider.
Outcome tcp_type_and_ports(TestContext& context);
Outcome cleanup_finalizer(TestContext& context);
Outcome rolling_update_cluster(TestContext& context);
// May be refused.
Outcome without_node_ports(TestContext& context);
Outcome udp_type_and_ports(TestContext& context);
Outcome udp_pod_cycle_other_node(TestContext& context);
Outcome udp_pod_cycle_same_node(TestContext& context);
// externalTrafficPolicy: Local
Outcome rolling_update_local(TestContext& context);
Outcome local_only_nodes_with_endpoints(TestContext& context);
Outcome local_all_nodes_with_endpoints(TestContext& context);
Outcome local_connects(TestContext& context);
Outcome local_source_ip(TestContext& context);
Outcome local_from_pods(TestContext& context);
Outcome local_from_pods_source_ip(TestContext& context);
// Features that can be required.
Outcome affinity_cluster(TestContext& context);
Outcome affinity_local(TestContext& context);
Outcome affinity_switch_cluster(TestContext& context);
Outcome affinity_switch_local(TestContext& context);
Outcome source_ranges(TestContext& context);
// New in the KEP.
Outcome dual_stack(TestContext& context);
Outcome mixed_protocols(TestContext& context);
Outcome mixed_protocols_one_port(TestContext& context);
Outcome class_ignored(TestContext& context);
// The API's toggles of KEP-3622 and KEP-4144.
Outcome without_cluster_ip(TestContext& context);
Outcome without_health_check_port(TestContext& context);
// The KEP's rules for providers themselves.
Outcome conditions_life_cycle(TestContext& context);
Outcome unknown_feature_refused(TestContext& context);

}  // namespace kindlb::conformance
