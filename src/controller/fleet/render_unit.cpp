#include "fleet/render_unit.hpp"

#include "kindlb/envoy/render.hpp"

#include <utility>

namespace kindlb::controller {

protocol::Unit render_unit(const core::ProxyConfig& config, const core::Revision& revision) {
  auto rendered = envoy::render(config, {protocol::kXdsDir, protocol::kEndpointsDir});
  protocol::Unit unit;
  unit.unit = config.unit;
  unit.owner = config.owner.text();
  unit.revision = revision.text();
  unit.addresses = config.addresses;
  unit.routes = config.routes;
  for (auto& listener : rendered.listeners)
    unit.listeners.push_back({std::move(listener.name), std::move(listener.body)});
  for (auto& cluster : rendered.clusters)
    unit.clusters.push_back({std::move(cluster.name), std::move(cluster.body)});
  for (auto& endpoints : rendered.endpoints)
    unit.assignments.push_back(
        {std::move(endpoints.cluster), std::move(endpoints.file), std::move(endpoints.body)});
  unit.udp_rules = std::move(rendered.udp_rules);
  for (auto& listener : rendered.listeners_behind_rules)
    unit.listeners_behind_rules.push_back({std::move(listener.name), std::move(listener.body)});
  return unit;
}

}  // namespace kindlb::controller
