// What a provider may refuse, if it says so, and the features that can be required.

#include "service_under_test.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kindlb::conformance {

namespace {
constexpr std::size_t kConnections = 20;  // enough to see whether they reach one pod or several

Outcome udp_pod_cycle(Scene& scene, bool other_node) {
  const auto& nodes = scene.world().nodes;
  const Port dns{"UDP", 80};
  Balancer web(scene);
  Wish wish;
  wish.ports = {dns};
  wish.selector = scene.selector();
  wish.families = 0;  // pods come once it is clear that they will be of use
  if (auto end = web.publish(wish)) return *end;
  if (auto end = scene.start_pod("first", nodes.front())) return *end;
  UdpClient client(web.target(dns));  // one source port throughout: what is remembered must go
  const auto answered_by = [&](const char* pod) {
    const auto answer = client.ask("hostname", std::chrono::seconds(1));
    return answer && *answer == scene.test().name + "-" + pod;
  };
  const auto lag = scene.world().settings.limits.conditions;
  if (auto end =
          scene.until("answered by the first pod", lag, [&] { return answered_by("first"); }))
    return *end;
  scene.supported();
  if (auto end = scene.start_pod("second", other_node ? nodes.back() : nodes.front())) return *end;
  if (auto end = scene.remove_pod("first")) return *end;
  if (auto end =
          scene.until("answered by the second pod", lag, [&] { return answered_by("second"); }))
    return *end;
  return {};
}

const Json kClientIp{{"sessionAffinity", "ClientIP"}};
const Json kNoAffinity{{"sessionAffinity", "None"}, {"sessionAffinityConfig", nullptr}};

/// Asks until the pods that answer are as many as wanted. Every connection must work, but which pod
/// gets it may be up to kube-proxy, which no condition tells of: as in the official tests, it has
/// the time that the KEP calls its maximum lag.
End settles(Scene& scene, Balancer& web, const std::string& what,
            const std::function<bool(std::size_t pods)>& wanted) {
  End broken;
  auto end = scene.until(what, scene.patience(), [&] {
    std::set<std::string> pods;
    broken = web.names(kConnections, pods);
    return broken ? scene.speaks() : wanted(pods.size());
  });
  return broken ? broken : end;
}

End sticks(Scene& scene, Balancer& web) {
  return settles(scene, web, "stuck to one pod", [](std::size_t pods) { return pods == 1; });
}

End spreads(Scene& scene, Balancer& web) {
  return settles(scene, web, "spread over pods", [](std::size_t pods) { return pods > 1; });
}

Outcome affinity(Scene& scene, const char* policy, bool switches) {
  if (scene.world().pods < 2)
    return {Verdict::Skip, "needs two pods, and --workload-selector names one"};
  Balancer web(scene);
  Wish wish;
  wish.any = kClientIp;
  wish.balancer = {{"externalTrafficPolicy", policy}};
  if (auto end = web.publish(wish)) return *end;
  if (auto end = sticks(scene, web)) return *end;
  if (!switches) return {};
  scene.supported();
  if (auto end = web.change(kNoAffinity)) return *end;
  if (auto end = spreads(scene, web)) return *end;
  if (auto end = web.change(kClientIp)) return *end;
  if (auto end = sticks(scene, web)) return *end;
  return {};
}
}  // namespace

Outcome without_node_ports(Scene& scene) {
  const auto any_node_port = [](const core::Service& service) {
    return std::ranges::any_of(service.spec.ports,
                               [](const core::ServicePort& port) { return port.node_port != 0; });
  };
  Balancer web(scene);
  Wish wish;
  wish.balancer = {{"allocateLoadBalancerNodePorts", false}};
  if (auto end = web.publish(wish)) return *end;
  if (auto end = web.answers(kWeb)) return *end;
  scene.supported();
  const auto service = web.look();
  if (!service) return scene.fail(service.error());
  if (any_node_port(*service)) return scene.fail("a node port was allocated all the same");
  // Clients cannot tell the difference.
  if (auto end = web.change({{"allocateLoadBalancerNodePorts", true}}, false)) return *end;
  if (auto end = web.shows("with a node port", any_node_port)) return *end;
  if (auto end = web.answers(kWeb)) return *end;
  return {};
}

Outcome udp_pod_cycle_other_node(Scene& scene) {
  return udp_pod_cycle(scene, true);
}

Outcome udp_pod_cycle_same_node(Scene& scene) {
  return udp_pod_cycle(scene, false);
}

Outcome affinity_cluster(Scene& scene) {
  return affinity(scene, "Cluster", false);
}

Outcome affinity_local(Scene& scene) {
  return affinity(scene, "Local", false);
}

Outcome affinity_switch_cluster(Scene& scene) {
  return affinity(scene, "Cluster", true);
}

Outcome affinity_switch_local(Scene& scene) {
  return affinity(scene, "Local", true);
}

/// Not by this machine's own address: what the load balancer sees of it may be another one.
Outcome source_ranges(Scene& scene) {
  Balancer web(scene);
  if (auto end = web.create({})) return *end;
  const auto service = web.look();
  if (!service) return scene.fail(service.error());
  const auto& families = service->spec.ip_families;
  const bool v6 = !families.empty() && families.front() == core::IpFamily::V6;
  const Json everybody{{"loadBalancerSourceRanges", {v6 ? "::/0" : "0.0.0.0/0"}}};
  const Json nobody{{"loadBalancerSourceRanges", {v6 ? "2001:db8::/32" : "192.0.2.0/24"}}};
  if (auto end = web.become_balancer(everybody)) return *end;
  if (auto end = web.answers(kWeb)) return *end;
  if (auto end = web.change(nobody)) return *end;
  // The KEP lets kube-proxy enforce them.
  if (auto end = web.falls_silent(kWeb)) return *end;
  scene.supported();
  if (auto end = web.change(everybody)) return *end;
  if (auto end = web.answers_soon(kWeb)) return *end;
  return {};
}

}  // namespace kindlb::conformance
