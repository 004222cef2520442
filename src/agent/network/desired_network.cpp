#include "network/desired_network.hpp"

namespace kindlb::agent {

void DesiredNetwork::add(const std::vector<core::Cidr>& more_addresses,
                         const std::vector<core::Route>& more_routes) {
  addresses.insert(more_addresses.begin(), more_addresses.end());
  for (const auto& route : more_routes)
    routes.insert_or_assign(core::Cidr{route.to.first(), route.to.length}, route.via);
}

}  // namespace kindlb::agent
