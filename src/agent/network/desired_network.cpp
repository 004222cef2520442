#include "network/desired_network.hpp"

#include "wanted_units.hpp"

#include <algorithm>

namespace kindlb::agent {

void DesiredNetwork::add(const std::vector<core::Cidr>& more_addresses,
                         const std::vector<core::Route>& more_routes) {
  addresses.insert(more_addresses.begin(), more_addresses.end());
  for (const auto& route : more_routes)
    routes.insert_or_assign(core::Cidr{route.to.first(), route.to.length}, route.via);
}

DesiredNetwork desired_network(const WantedUnits& wanted) {
  DesiredNetwork out;
  auto by_age = wanted.committed;
  std::ranges::stable_sort(by_age, {},
                           [](const CommittedUnit* unit) { return unit->committed_by; });
  for (const auto* committed : by_age) out.add(committed->unit.addresses, committed->unit.routes);
  for (const auto* request : wanted.requested)
    out.add(request->unit.addresses, request->unit.routes);
  return out;
}

}  // namespace kindlb::agent
