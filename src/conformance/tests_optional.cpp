// What a provider may refuse, as long as it reports it, and the features that can be required.

#include "service_under_test.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kindlb::conformance {

namespace {
constexpr std::size_t kConnections = 20;  // enough to see whether they reach one pod or several

/// One client keeps its source port while the pod behind it is replaced. Load balancers and
/// kube-proxy remember UDP flows by source port, and a flow that still leads to the old pod is a
/// black hole.
Outcome udp_pod_cycle(TestContext& context, bool other_node) {
  const auto& nodes = context.env().nodes;
  const Port dns{"UDP", 80};
  ServiceUnderTest web(context);
  ServiceTemplate wanted;
  wanted.ports = {dns};
  wanted.selector = context.selector();
  wanted.endpoint_families = 0;  // the test may be skipped before it needs pods
  if (auto end = web.publish(wanted)) return *end;
  if (auto end = context.start_pod("first", nodes.front())) return *end;
  UdpClient client(
      web.target(dns));  // one source port throughout: remembered flows must be dropped
  const auto answered_by = [&](const char* pod) {
    const auto answer = client.exchange("hostname", std::chrono::seconds(1));
    return answer && *answer == context.test().name + "-" + pod;
  };
  const auto lag = context.env().settings.limits.conditions;
  if (auto end = context.wait_for("an answer from the first pod", lag,
                                  [&] { return answered_by("first"); }))
    return *end;
  context.mark_supported();
  if (auto end = context.start_pod("second", other_node ? nodes.back() : nodes.front()))
    return *end;
  if (auto end = context.remove_pod("first")) return *end;
  if (auto end = context.wait_for("an answer from the second pod", lag,
                                  [&] { return answered_by("second"); }))
    return *end;
  return {};
}

const Json kClientIp{{"sessionAffinity", "ClientIP"}};
const Json kNoAffinity{{"sessionAffinity", "None"}, {"sessionAffinityConfig", nullptr}};

/// Wait until the number of pods that answer is as wanted. Every connection must work, but which
/// pod gets it may be up to kube-proxy, which no condition reports: as in Kubernetes' own e2e
/// suite, it has the time that the KEP calls its maximum lag.
EarlyEnd await_spread(TestContext& context, ServiceUnderTest& web, const std::string& what,
                      const std::function<bool(std::size_t pods)>& wanted) {
  EarlyEnd broken;
  auto end = context.wait_for(what, context.propagation_timeout(), [&] {
    std::set<std::string> pods;
    broken = web.collect_pod_names(kConnections, pods);
    return broken ? context.writes_conditions() : wanted(pods.size());
  });
  return broken ? broken : end;
}

EarlyEnd sticks(TestContext& context, ServiceUnderTest& web) {
  return await_spread(context, web, "connections to stick to one pod",
                      [](std::size_t pods) { return pods == 1; });
}

EarlyEnd spreads(TestContext& context, ServiceUnderTest& web) {
  return await_spread(context, web, "connections to spread over pods",
                      [](std::size_t pods) { return pods > 1; });
}

/// With affinity, all connections of this machine reach one pod; without, several. Needs two pods
/// to tell the difference.
Outcome affinity(TestContext& context, const char* policy, bool switches) {
  if (context.env().pods < 2)
    return {Verdict::Skip, "needs two pods; --workload-selector selects one"};
  ServiceUnderTest web(context);
  ServiceTemplate wanted;
  wanted.spec = kClientIp;
  wanted.load_balancer_spec = {{"externalTrafficPolicy", policy}};
  if (auto end = web.publish(wanted)) return *end;
  if (auto end = sticks(context, web)) return *end;
  if (!switches) return {};
  context.mark_supported();
  if (auto end = web.change(kNoAffinity)) return *end;
  if (auto end = spreads(context, web)) return *end;
  if (auto end = web.change(kClientIp)) return *end;
  if (auto end = sticks(context, web)) return *end;
  return {};
}
}  // namespace

/// A provider that forwards to node ports cannot serve this and may refuse it (KEP-1864).
Outcome without_node_ports(TestContext& context) {
  const auto any_node_port = [](const core::Service& service) {
    return std::ranges::any_of(service.spec.ports,
                               [](const core::ServicePort& port) { return port.node_port != 0; });
  };
  ServiceUnderTest web(context);
  ServiceTemplate wanted;
  wanted.load_balancer_spec = {{"allocateLoadBalancerNodePorts", false}};
  if (auto end = web.publish(wanted)) return *end;
  if (auto end = web.check_answers(kWeb)) return *end;
  context.mark_supported();
  const auto service = web.fetch();
  if (!service) return context.fail(service.error());
  if (any_node_port(*service)) return context.fail("a node port was allocated nevertheless");
  // Clients cannot tell the difference.
  if (auto end = web.change({{"allocateLoadBalancerNodePorts", true}}, false)) return *end;
  if (auto end = web.await_state("the Service to get a node port", any_node_port)) return *end;
  if (auto end = web.check_answers(kWeb)) return *end;
  return {};
}

Outcome udp_pod_cycle_other_node(TestContext& context) {
  return udp_pod_cycle(context, true);
}

Outcome udp_pod_cycle_same_node(TestContext& context) {
  return udp_pod_cycle(context, false);
}

Outcome affinity_cluster(TestContext& context) {
  return affinity(context, "Cluster", false);
}

Outcome affinity_local(TestContext& context) {
  return affinity(context, "Local", false);
}

Outcome affinity_switch_cluster(TestContext& context) {
  return affinity(context, "Cluster", true);
}

Outcome affinity_switch_local(TestContext& context) {
  return affinity(context, "Local", true);
}

/// Does not use this machine's own address in a range: the load balancer may see another one,
/// behind address translation.
Outcome source_ranges(TestContext& context) {
  ServiceUnderTest web(context);
  if (auto end = web.create({})) return *end;
  const auto service = web.fetch();
  if (!service) return context.fail(service.error());
  const auto& families = service->spec.ip_families;
  const bool v6 = !families.empty() && families.front() == core::IpFamily::V6;
  const Json allow_all{{"loadBalancerSourceRanges", {v6 ? "::/0" : "0.0.0.0/0"}}};
  const Json allow_none{{"loadBalancerSourceRanges", {v6 ? "2001:db8::/32" : "192.0.2.0/24"}}};
  if (auto end = web.become_load_balancer(allow_all)) return *end;
  if (auto end = web.check_answers(kWeb)) return *end;
  if (auto end = web.change(allow_none)) return *end;
  // The KEP lets kube-proxy enforce source ranges.
  if (auto end = web.await_closed(kWeb)) return *end;
  context.mark_supported();
  if (auto end = web.change(allow_all)) return *end;
  if (auto end = web.await_answers(kWeb)) return *end;
  return {};
}

}  // namespace kindlb::conformance
