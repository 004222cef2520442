// The table of all tests, in the order of KEP-4631's plan; those of other KEPs come last. A name is
// part of the tool's interface: it is what --focus matches, what CI reports are compared by, and
// the beginning of the names of the test's Services and pods (which may have 63 characters). Titles
// are those of the KEP, which takes most of them from Kubernetes' own e2e suite.

#include "kindlb/base/text.hpp"
#include "kindlb/conformance/runner.hpp"
#include "test.hpp"

#include <regex>

namespace kindlb::conformance {

namespace {
/// No provider can know this feature, so none may claim to support it.
constexpr const char* kUnknownFeature = "ServedByNobody";

std::string rule_of(const Test& test) {
  if (!test.optional || test.features == std::vector<std::string>{kUnknownFeature})
    return "required";
  if (test.features.empty()) return "may be refused";
  return "requires " + base::joined(test.features);
}
}  // namespace

const std::vector<Test>& all_tests() {
  static const std::vector<Test> kTests{
      {.name = "tcp-type-and-ports",
       .title = "should be able to change the type and ports of a TCP service",
       .body = tcp_type_and_ports},
      {.name = "cleanup-finalizer",
       .title = "should handle load balancer cleanup finalizer for service",
       .body = cleanup_finalizer},
      {.name = "rolling-update-cluster",
       .title = "should not have connectivity disruption during rolling update with "
                "externalTrafficPolicy=Cluster",
       .own_pods = true,
       .body = rolling_update_cluster},
      {.name = "without-node-ports",
       .title = "should be able to create LoadBalancer Service without NodePort and change it",
       .optional = true,
       .body = without_node_ports},
      {.name = "udp-type-and-ports",
       .title = "should be able to change the type and ports of a UDP service",
       .optional = true,
       .body = udp_type_and_ports},
      {.name = "udp-pod-cycle-other-node",
       .title = "should be able to preserve UDP traffic when server pod cycles for a LoadBalancer "
                "service on different nodes",
       .optional = true,
       .own_pods = true,
       .nodes = 2,
       .body = udp_pod_cycle_other_node},
      {.name = "udp-pod-cycle-same-node",
       .title = "should be able to preserve UDP traffic when server pod cycles for a LoadBalancer "
                "service on the same node",
       .optional = true,
       .own_pods = true,
       .body = udp_pod_cycle_same_node},
      {.name = "rolling-update-local",
       .title = "should not have connectivity disruption during rolling update with "
                "externalTrafficPolicy=Local",
       .own_pods = true,
       .body = rolling_update_local},
      {.name = "local-only-nodes-with-endpoints",
       .title = "ExternalTrafficPolicy: Local should only target nodes with endpoints",
       .own_pods = true,
       .nodes = 2,
       .body = local_only_nodes_with_endpoints},
      {.name = "local-all-nodes-with-endpoints",
       .title = "ExternalTrafficPolicy: Local should target all nodes with endpoints",
       .own_pods = true,
       .nodes = 2,
       .body = local_all_nodes_with_endpoints},
      {.name = "local-connects",
       .title = "ExternalTrafficPolicy: Local should work for type=LoadBalancer (connectivity)",
       .body = local_connects},
      {.name = "local-source-ip",
       .title = "ExternalTrafficPolicy: Local should work for type=LoadBalancer (source IP)",
       .optional = true,
       .features = {"ExternalTrafficPolicy"},
       .body = local_source_ip},
      {.name = "local-from-pods",
       .title = "ExternalTrafficPolicy: Local should work from pods (connectivity)",
       .own_pods = true,
       .body = local_from_pods},
      {.name = "local-from-pods-source-ip",
       .title = "ExternalTrafficPolicy: Local should work from pods (source IP)",
       .optional = true,
       .features = {"ExternalTrafficPolicy"},
       .own_pods = true,
       .body = local_from_pods_source_ip},
      {.name = "affinity-local",
       .title = "should have session affinity work for LoadBalancer service with Local traffic "
                "policy",
       .optional = true,
       .features = {"SessionAffinity"},
       .body = affinity_local},
      {.name = "affinity-cluster",
       .title = "should have session affinity work for LoadBalancer service with Cluster traffic "
                "policy",
       .optional = true,
       .features = {"SessionAffinity"},
       .body = affinity_cluster},
      {.name = "affinity-switch-local",
       .title = "should be able to switch session affinity for LoadBalancer service with Local "
                "traffic policy",
       .optional = true,
       .features = {"SessionAffinity"},
       .body = affinity_switch_local},
      {.name = "affinity-switch-cluster",
       .title = "should be able to switch session affinity for LoadBalancer service with Cluster "
                "traffic policy",
       .optional = true,
       .features = {"SessionAffinity"},
       .body = affinity_switch_cluster},
      {.name = "source-ranges",
       .title = "should only allow access from service loadbalancer source ranges",
       .optional = true,
       .features = {"LoadBalancerSourceRanges"},
       .body = source_ranges},
      {.name = "dual-stack",
       .title = "dual-stack load balancer provisioning (new)",
       .optional = true,
       .features = {"IPFamilies"},
       .body = dual_stack},
      {.name = "mixed-protocols",
       .title = "multi-protocol load balancer provisioning, two port numbers (new)",
       .optional = true,
       .features = {"Ports"},
       .body = mixed_protocols},
      {.name = "mixed-protocols-one-port",
       .title = "multi-protocol load balancer provisioning, one port number (new)",
       .optional = true,
       .features = {"Ports"},
       .body = mixed_protocols_one_port},
      {.name = "class-ignored",
       .title = "cloud providers ignore Services with LoadBalancerClass set (new)",
       .body = class_ignored},
      {.name = "conditions",
       .title = "conditions appear, and show when changes are seen and take effect",
       .body = conditions_life_cycle},
      {.name = "unknown-feature-refused",
       .title = "a required feature that the provider does not know is refused",
       .optional = true,  // so that the refusal it wants ends the wait
       .features = {kUnknownFeature},
       .body = unknown_feature_refused},
      {.name = "without-cluster-ip",
       .title = "should be able to create LoadBalancer Service without ClusterIP and change it "
                "(KEP-3622)",
       .optional = true,
       .body = without_cluster_ip},
      {.name = "without-health-check-port",
       .title = "should be able to create LoadBalancer Service without HealthCheck port and change "
                "it (KEP-4144)",
       .optional = true,
       .body = without_health_check_port},
  };
  return kTests;
}

std::vector<TestInfo> list_tests(const std::string& focus) {
  const std::regex wanted(focus);
  std::vector<TestInfo> out;
  for (const auto& test : all_tests())
    if (focus.empty() || std::regex_search(test.name, wanted))
      out.push_back({test.name, test.title, rule_of(test)});
  return out;
}

}  // namespace kindlb::conformance
