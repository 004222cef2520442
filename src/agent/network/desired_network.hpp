#pragma once
// Which addresses and routes the container's network namespace should have. Pure.

#include "kindlb/core/ip.hpp"
#include "kindlb/core/proxy_config.hpp"

#include <map>
#include <set>
#include <vector>

namespace kindlb::agent {

struct WantedUnits;

/// What the namespace should have for all units together. Units may share addresses and routes.
struct DesiredNetwork {
  std::set<core::Cidr> addresses;
  std::map<core::Cidr, core::IpAddress> routes;  ///< destination -> gateway

  /// Add a unit's needs. Where two name different gateways for a destination, the later call wins.
  void add(const std::vector<core::Cidr>& more_addresses,
           const std::vector<core::Route>& more_routes);

  bool operator==(const DesiredNetwork&) const = default;
};

/// Addresses and routes are shared by units: each stays while any unit or request needs it, so they
/// are computed from all of them and never counted. Two units may disagree about the gateway of a
/// pod (its address moved to another node and only one unit has been updated yet): the newer one is
/// right, so units are added by age and requests, which are newer still, last.
DesiredNetwork desired_network(const WantedUnits& wanted);

}  // namespace kindlb::agent
