#pragma once
// Choose where a Service's connections go: directly to its pods, or to node ports (docs/contract.md
// §5: the data path must not need node ports). Pure.
//
// The direct path needs a route per pod in the proxy's network namespace, through the pod's node;
// it keeps working without node ports and takes one hop less. Node ports work with every CNI
// plugin. Datapath::Auto prefers the direct path and falls back to node ports when the direct path
// cannot be built or a probe over it failed.

#include "kindlb/core/policy.hpp"
#include "kindlb/core/proxy_config.hpp"
#include "kindlb/core/service.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::core {

using Slices = std::vector<const EndpointSlice*>;
using Nodes = std::map<std::string, Node>;

/// Return whether a node is eligible for node-port traffic: Ready, its container running, not being
/// deleted, and not labelled node.kubernetes.io/exclude-from-external-load-balancers.
bool takes_traffic(const Node& node);

/// The path chosen for one Service and one IP family.
struct Path {
  bool direct = true;
  std::map<std::pair<Protocol, std::uint16_t>, std::vector<Target>> targets;  ///< by Service port
  std::vector<Route> routes;                                                  ///< sorted, unique
  std::size_t ready = 0;        ///< endpoints in use, on either path
  std::string problem;          ///< set: why this path cannot work
  std::string fallback_reason;  ///< set: why node ports are used instead of the direct path

  bool operator==(const Path&) const = default;
};

struct PathInput {
  const Service& service;
  const std::vector<ServicePort>& ports;  ///< accepted by the verdict
  const Slices& slices;
  const Nodes& nodes;
  Cidr subnet;  ///< of the proxy's network; endpoints inside it need no route
};

/// Build the path to pod addresses. Endpoints that no route can be given to are left out; `problem`
/// then names one of them.
Path direct_path(const PathInput& input);
/// Build the path to node ports. With externalTrafficPolicy Local only nodes with endpoints are
/// used.
Path node_port_path(const PathInput& input);

/// Choose between the two. `blocked`: a probe over the direct path has failed. When neither path
/// can work the direct one is returned, because its problem names the actual cause.
Path choose_path(const PathInput& input, Datapath wanted, bool blocked);

}  // namespace kindlb::core
