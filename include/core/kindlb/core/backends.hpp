#pragma once
// Where a Service's connections go: straight to its pods, or to the nodes' ports. Pure.

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

/// Eligible for node ports: Ready, running, not being deleted, not excluded by its label
/// (node.kubernetes.io/exclude-from-external-load-balancers).
bool takes_traffic(const Node& node);

/// The way chosen for one Service and one family.
struct Path {
  bool direct = true;
  std::map<std::pair<Protocol, std::uint16_t>, std::vector<Target>> targets;  ///< by Service port
  std::vector<Route> routes;                                                  ///< sorted, unique
  std::size_t ready = 0;  ///< endpoints in use behind the Service, whichever the way
  std::string problem;    ///< set: this way cannot work, and why; for people
  std::string
      fallback_reason;  ///< set: why node ports are used although pods were to be reached directly

  bool operator==(const Path&) const = default;
};

struct PathInput {
  const Service& service;
  const std::vector<ServicePort>& ports;  ///< the open ones
  const Slices& slices;
  const Nodes& nodes;
  Cidr subnet;  ///< the proxy's own network: what is inside is reached without a route
};

Path direct_path(const PathInput& input);
Path node_port_path(const PathInput& input);

/// `blocked`: direct was tried and packets did not get through.
Path choose_path(const PathInput& input, Datapath wanted, bool blocked);

}  // namespace kindlb::core
