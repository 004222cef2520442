#pragma once
// Which addresses and routes the container's network namespace should have. Pure.

#include "kindlb/core/ip.hpp"
#include "kindlb/core/proxy_config.hpp"

#include <map>
#include <set>
#include <vector>

namespace kindlb::agent {

/// What the namespace should have for all units together. Units may share addresses and routes.
struct DesiredNetwork {
  std::set<core::Cidr> addresses;
  std::map<core::Cidr, core::IpAddress> routes;  ///< destination -> gateway

  /// Add a unit's needs. Where two name different gateways for a destination, the later call wins.
  void add(const std::vector<core::Cidr>& more_addresses,
           const std::vector<core::Route>& more_routes);

  bool operator==(const DesiredNetwork&) const = default;
};

}  // namespace kindlb::agent
