#include "kindlb/core/backends.hpp"

#include <algorithm>
#include <set>

namespace kindlb::core {

namespace {

constexpr const char* kExcludeLabel = "node.kubernetes.io/exclude-from-external-load-balancers";

template <typename T>
void sort_unique(std::vector<T>& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

/// Endpoints on a stopped or paused node do not answer. The node lifecycle controller takes 40 s
/// and more to notice; the Docker engine reports it at once.
bool is_halted(const Endpoint& endpoint, const Nodes& nodes) {
  const auto node = nodes.find(endpoint.node);
  return node != nodes.end() && node->second.halted;
}

/// Return the ready endpoints; if there are none, those that are terminating but still serving, as
/// kube-proxy does (KEP-1669), so that a rolling update loses no connection.
std::vector<std::pair<const EndpointSlice*, const Endpoint*>> usable_endpoints(
    const PathInput& input) {
  std::vector<std::pair<const EndpointSlice*, const Endpoint*>> ready;
  std::vector<std::pair<const EndpointSlice*, const Endpoint*>> leaving;
  for (const auto* slice : input.slices) {
    if (slice->family != input.subnet.address.family()) continue;
    for (const auto& endpoint : slice->endpoints) {
      if (is_halted(endpoint, input.nodes)) continue;
      if (endpoint.ready)
        ready.emplace_back(slice, &endpoint);
      else if (endpoint.serving && endpoint.terminating)
        leaving.emplace_back(slice, &endpoint);
    }
  }
  return ready.empty() ? leaving : ready;
}

std::optional<IpAddress> node_address(const Node& node, IpFamily family) {
  for (const auto& address : node.internal_ips)
    if (address.family() == family) return address;
  return std::nullopt;
}

/// Return the route to an endpoint. Nothing: no route is needed, or none is possible (then
/// `problem` says why).
std::optional<Route> route_to(const Endpoint& endpoint, const PathInput& input,
                              std::string& problem) {
  if (input.subnet.contains(endpoint.address)) return std::nullopt;
  const auto node = input.nodes.find(endpoint.node);
  const auto via = node == input.nodes.end()
                       ? std::nullopt
                       : node_address(node->second, endpoint.address.family());
  if (via && input.subnet.contains(*via)) return Route{Cidr::host(endpoint.address), *via};
  problem = "endpoint " + endpoint.address.text() +
            (endpoint.node.empty() ? " has no nodeName to route it through"
                                   : " runs on node " + endpoint.node +
                                         ", which has no address on the proxy's network");
  return std::nullopt;
}

/// Keep one route per destination: while a pod's address moves, two slices may name different nodes
/// for it, but the kernel accepts only one route. Sorted input makes the choice stable.
void drop_rival_routes(std::vector<Route>& sorted) {
  const auto same_host = [](const Route& a, const Route& b) { return a.to == b.to; };
  sorted.erase(std::unique(sorted.begin(), sorted.end(), same_host), sorted.end());
}

std::optional<std::uint16_t> endpoint_port(const EndpointSlice& slice, const ServicePort& port) {
  for (const auto& candidate : slice.ports)
    if (candidate.name == port.name && candidate.protocol == port.protocol) return candidate.port;
  return std::nullopt;
}

std::set<std::string> nodes_with_endpoints(const PathInput& input) {
  std::set<std::string> out;
  for (const auto& [slice, endpoint] : usable_endpoints(input)) out.insert(endpoint->node);
  return out;
}

/// With traffic policy Cluster every eligible node forwards to any endpoint; with Local a node
/// without endpoints would drop the traffic.
std::vector<IpAddress> eligible_nodes(const PathInput& input) {
  const bool local = input.service.spec.external_traffic_policy == TrafficPolicy::Local;
  const auto with_endpoints = local ? nodes_with_endpoints(input) : std::set<std::string>{};
  std::vector<IpAddress> out;
  for (const auto& [name, node] : input.nodes) {
    if (!takes_traffic(node) || (local && !with_endpoints.contains(name))) continue;
    if (const auto address = node_address(node, input.subnet.address.family()))
      out.push_back(*address);
  }
  return out;
}

std::string exclusion_advice(std::size_t excluded) {
  return std::to_string(excluded) + " excluded by the label " + kExcludeLabel +
         "; remove it with: kubectl label nodes --all " + kExcludeLabel + "-";
}

/// Explain why none of the nodes selected by `concerns` may take traffic.
template <typename Concerns>
std::string why_no_node(const PathInput& input, Concerns concerns) {
  std::size_t excluded = 0;
  std::size_t eligible = 0;
  for (const auto& [name, node] : input.nodes) {
    if (!concerns(name)) continue;
    excluded += node.excluded ? 1U : 0U;
    eligible += takes_traffic(node) ? 1U : 0U;
  }
  if (eligible > 0)
    return std::string("no eligible node has an ") + name_of(input.subnet.address.family()) +
           " address";
  if (excluded > 0) return "no node is eligible: " + exclusion_advice(excluded);
  return "no node is Ready; see: kubectl get nodes";
}

/// Explain why there is no eligible node. With traffic policy Local and no ready endpoint there is
/// nothing to explain: the load balancer works, but has no backend (docs/contract.md §2).
std::string node_problem(const PathInput& input, std::size_t ready) {
  const bool any_node = std::any_of(input.nodes.begin(), input.nodes.end(),
                                    [](const auto& item) { return takes_traffic(item.second); });
  const bool local = input.service.spec.external_traffic_policy == TrafficPolicy::Local;
  if (!local || !any_node) return why_no_node(input, [](const auto&) { return true; });
  if (ready == 0) return {};
  const auto with_endpoints = nodes_with_endpoints(input);
  return "spec.externalTrafficPolicy is Local, and among the nodes with endpoints " +
         why_no_node(input, [&](const auto& name) { return with_endpoints.contains(name); });
}

}  // namespace

bool takes_traffic(const Node& node) {
  return node.ready && !node.halted && !node.deleting && !node.excluded;
}

// Both functions create an entry for every accepted port, even without a target: the listener
// exists and closes connections, which is what "no ready endpoint" must look like to a client.

Path direct_path(const PathInput& input) {
  Path path{.direct = true};
  for (const auto& port : input.ports) path.targets[{port.protocol, port.port}];
  const auto endpoints = usable_endpoints(input);
  path.ready = endpoints.size();
  for (const auto& [slice, endpoint] : endpoints) {
    std::string problem;
    const auto route = route_to(*endpoint, input, problem);
    if (!problem.empty()) {
      // Report one problem, and always the same one, or the message would flap.
      if (path.problem.empty() || problem < path.problem) path.problem = problem;
      continue;
    }
    if (route) path.routes.push_back(*route);
    for (const auto& port : input.ports)
      if (const auto number = endpoint_port(*slice, port))
        path.targets[{port.protocol, port.port}].push_back({endpoint->address, *number});
  }
  sort_unique(path.routes);
  drop_rival_routes(path.routes);
  for (auto& [port, targets] : path.targets) sort_unique(targets);
  return path;
}

Path node_port_path(const PathInput& input) {
  Path path{.direct = false};
  path.ready = usable_endpoints(input).size();
  const auto addresses = eligible_nodes(input);
  if (addresses.empty()) path.problem = node_problem(input, path.ready);
  for (const auto& port : input.ports) {
    auto& targets = path.targets[{port.protocol, port.port}];
    if (port.node_port == 0 && path.problem.empty())
      path.problem = "port " + port_label(port.protocol, port.port) + " has no node port";
    if (port.node_port == 0) continue;
    for (const auto& address : addresses) targets.push_back({address, port.node_port});
    sort_unique(targets);
  }
  return path;
}

Path choose_path(const PathInput& input, Datapath wanted, bool blocked) {
  if (wanted == Datapath::NodePort) return node_port_path(input);
  auto direct = direct_path(input);
  if (wanted == Datapath::Direct || (direct.problem.empty() && !blocked)) return direct;
  auto fallback = node_port_path(input);
  if (!fallback.problem.empty()) return direct;
  fallback.fallback_reason =
      direct.problem.empty() ? "pods are not reachable directly" : std::move(direct.problem);
  return fallback;
}

}  // namespace kindlb::core
