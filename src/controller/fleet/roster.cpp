#include "fleet/roster.hpp"

#include "kindlb/core/assert.hpp"

#include <set>
#include <utility>

namespace kindlb::controller {

std::string Proxy::description() const {
  if (warm()) return container.name;
  if (units.size() == 1) return units.begin()->second.owner();
  return std::to_string(units.size()) + " Services of " + cluster;
}

const Proxy* ProxyRoster::find(const std::string& id) const {
  const auto found = proxies_.find(id);
  return found == proxies_.end() ? nullptr : &found->second;
}

const Proxy* ProxyRoster::holder_of(const std::string& unit) const {
  const auto holder = holders_.find(unit);
  return holder == holders_.end() ? nullptr : &proxies_.at(holder->second);
}

const AssignedUnit* ProxyRoster::unit(const std::string& unit) const {
  const auto* proxy = holder_of(unit);
  return proxy == nullptr ? nullptr : &proxy->units.at(unit);
}

AssignedUnit* ProxyRoster::unit(const std::string& unit) {
  const auto holder = holders_.find(unit);
  return holder == holders_.end() ? nullptr : &proxies_.at(holder->second).units.at(unit);
}

std::vector<std::string> ProxyRoster::units_of(const std::string& id) const {
  std::vector<std::string> out;
  for (const auto& [name, unit] : proxies_.at(id).units) out.push_back(name);
  return out;
}

core::ProxyView ProxyRoster::view(const std::string& name) const {
  const auto* proxy = holder_of(name);
  if (proxy == nullptr) return {};
  const auto& unit = proxy->units.at(name);
  core::ProxyView out;
  if (proxy->removing || unit.releasing()) {
    out.coming = true;
    if (proxy->removing && proxy->faults.any())
      out.trouble = proxy->faults.text() + (proxy->trouble.empty() ? "" : "; " + proxy->trouble);
    return out;
  }
  out = unit.view();
  out.live = proxy->live();
  out.trouble = proxy->faults.any() ? proxy->faults.text() : proxy->trouble;
  return out;
}

std::map<core::IpAddress, std::string> ProxyRoster::addresses_on(const std::string& network) const {
  std::map<core::IpAddress, std::string> out;
  for (const auto& [id, proxy] : proxies_) {
    if (proxy.container.network != network) continue;
    for (const auto& [name, unit] : proxy.units)
      for (const auto& address : unit.view().addresses) out.emplace(address, name);
  }
  return out;
}

const Proxy& ProxyRoster::add(HostedProxy container) {
  auto& proxy = proxies_[container.id];
  proxy.container = std::move(container);
  return proxy;
}

std::vector<std::string> ProxyRoster::drop(const std::string& id) {
  auto units = units_of(id);
  for (const auto& unit : units) holders_.erase(unit);
  proxies_.erase(id);
  return units;
}

void ProxyRoster::assign(const std::string& id, const ProxyRequest& request) {
  auto& proxy = proxies_.at(id);
  KINDLB_ASSERT(proxy.warm() || proxy.cluster == request.cluster());
  KINDLB_ASSERT(holders_.emplace(request.unit, id).second);
  proxy.cluster = request.cluster();
  proxy.units.try_emplace(request.unit, request.owner, request.watches);
}

void ProxyRoster::release(const std::string& unit) {
  const auto holder = holders_.extract(unit);
  proxies_.at(holder.mapped()).units.erase(unit);
}

ProxyRoster::Reported ProxyRoster::report(const std::string& id,
                                          const std::vector<protocol::UnitState>& units) {
  auto& proxy = proxies_.at(id);
  Reported out;
  std::set<std::string> seen;
  for (const auto& state : units) {
    const auto holder = holders_.try_emplace(state.unit, id).first;
    if (holder->second != id) {
      out.duplicates.push_back(state.unit);
      continue;
    }
    seen.insert(state.unit);
    proxy.units.try_emplace(state.unit, state.owner, state.watches).first->second.adopt(state);
    proxy.cluster = protocol::cluster_of(state.owner);
  }
  for (auto& [name, unit] : proxy.units) {
    if (seen.contains(name)) continue;
    unit.forget_acknowledged();
    if (unit.releasing()) out.released.push_back(name);
  }
  return out;
}

/// A restarted agent takes up its stored units by itself; nothing counts as acknowledged until its
/// Hello or Status says so.
void ProxyRoster::container_started(const std::string& id) {
  auto& proxy = proxies_.at(id);
  proxy.container.running = true;
  proxy.envoy = protocol::EnvoyState::Starting;
  proxy.trouble = "its container was restarted";
  proxy.faults = {};
  for (auto& [name, unit] : proxy.units) unit.forget_acknowledged();
}

void ProxyRoster::container_stopped(const std::string& id) {
  auto& proxy = proxies_.at(id);
  proxy.container.running = false;
  proxy.envoy = protocol::EnvoyState::Down;
  proxy.trouble = "its container has stopped";
  proxy.faults = {};
  forget_sent(id);
}

void ProxyRoster::forget_sent(const std::string& id) {
  for (auto& [name, unit] : proxies_.at(id).units) unit.forget_sent();
}

void ProxyRoster::set_envoy(const std::string& id, protocol::EnvoyState envoy) {
  auto& proxy = proxies_.at(id);
  proxy.envoy = envoy;
  if (envoy == protocol::EnvoyState::Live) proxy.trouble.clear();
}

void ProxyRoster::set_trouble(const std::string& id, const std::string& trouble) {
  proxies_.at(id).trouble = trouble;
}

bool ProxyRoster::set_faults(const std::string& id, const ProxyFaults& faults) {
  return std::exchange(proxies_.at(id).faults, faults) != faults;
}

void ProxyRoster::set_capacity(const std::string& id, std::size_t watches) {
  proxies_.at(id).capacity = watches;
}

void ProxyRoster::set_number(const std::string& id, unsigned number) {
  proxies_.at(id).number = number;
}

void ProxyRoster::set_removing(const std::string& id) {
  auto& proxy = proxies_.at(id);
  proxy.removing = true;
  proxy.trouble.clear();
}

}  // namespace kindlb::controller
