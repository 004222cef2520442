// The fleet's Services on their proxies: which goes where, and how it leaves again.
#include "background.hpp"
#include "fleet/fleet.hpp"
#include "kindlb/log/log.hpp"
#include "kindlb/proxy/containers.hpp"

#include <algorithm>
#include <utility>

namespace kindlb::controller {

namespace {

/// Beyond the agent's own limit for Envoy's word.
constexpr std::chrono::seconds kReleaseTimeout{15};

}  // namespace

Fleet::UnitRef Fleet::find(const std::string& unit) const {
  const auto holder = holders_.find(unit);
  if (holder == holders_.end()) return {};
  auto& proxy = const_cast<Proxy&>(proxies_.at(holder->second));
  return {&proxy, &proxy.units.at(unit)};
}

const Fleet::PendingProxy* Fleet::pending_for(const std::string& unit) const {
  const auto found = std::find_if(pending_.begin(), pending_.end(), [&](const auto& item) {
    return item.second.requests.contains(unit);
  });
  return found == pending_.end() ? nullptr : &found->second;
}

/// A warm one must be able to serve at once; one that is on its way up is worth joining.
core::ProxyLoad Fleet::room_of(const Proxy& proxy, const std::string& excluding) const {
  const bool up = proxy.warm()
                      ? proxy.channel == Channel::Open && proxy.envoy == protocol::EnvoyState::Live
                      : proxy.envoy != protocol::EnvoyState::Down;
  core::ProxyLoad out{.id = proxy.host.id,
                      .cluster = proxy.cluster,
                      .network = proxy.host.network,
                      .capacity = proxy.capacity,
                      .healthy = up && proxy.host.running && proxy.host.current && !proxy.removing};
  const auto count = [&](std::size_t watches) {
    ++out.services;
    out.watches += watches;
    out.largest = std::max(out.largest, watches);
  };
  for (const auto& [name, unit] : proxy.units)
    if (name != excluding) count(unit.watches);
  const auto now = Loop::Clock::now();
  for (const auto& [name, reservation] : proxy.reservations) {
    if (name == excluding || reservation.until <= now) continue;
    if (out.cluster.empty()) out.cluster = reservation.cluster;
    count(reservation.watches);
  }
  return out;
}

std::vector<core::ProxyLoad> Fleet::rooms(const std::string& excluding) const {
  std::vector<core::ProxyLoad> out;
  for (const auto& [id, proxy] : proxies_) out.push_back(room_of(proxy, excluding));
  for (const auto& [id, pending] : pending_) {
    core::ProxyLoad room{.id = id,
                         .cluster = pending.cluster,
                         .network = pending.network,
                         .services = pending.requests.size(),
                         .capacity = protocol::kUsualWatches,
                         .healthy = !pending.unwanted};
    for (const auto& [unit, request] : pending.requests) {
      room.watches += request.watches;
      room.largest = std::max(room.largest, request.watches);
    }
    out.push_back(std::move(room));
  }
  return out;
}

/// Where it was promised room, if that is still there.
std::optional<std::string> Fleet::choose_proxy(const ProxyRequest& request) const {
  const core::PlacementRequest need{request.cluster(), request.network, request.watches};
  for (const auto& [id, proxy] : proxies_)
    if (proxy.reservations.contains(request.unit) &&
        core::place({room_of(proxy, request.unit)}, need, options_.services_per_proxy))
      return id;
  return core::place(rooms(request.unit), need, options_.services_per_proxy);
}

void Fleet::assign(Proxy& proxy, const ProxyRequest& request) {
  const bool first = proxy.warm();
  proxy.cluster = request.cluster();
  proxy.units[request.unit] = {.owner = request.owner, .watches = request.watches};
  proxy.reservations.erase(request.unit);
  holders_[request.unit] = proxy.host.id;
  if (!first) return;
  if (options_.services_per_proxy != 1) proxy.number = free_number(proxy.cluster);
  rename_container(proxy, request.unit, request.owner);
}

/// For people: nothing depends on it.
void Fleet::rename_container(const Proxy& proxy, const std::string& unit,
                             const std::string& owner) {
  executor_.submit(
      [this, id = proxy.host.id, cluster = proxy.cluster, number = proxy.number, unit, owner] {
        const auto renamed =
            number == 0 ? host_.rename(id, owner, unit) : host_.rename_shared(id, cluster, number);
        if (!renamed.ok())
          log::debug("{}: cannot rename its proxy: {}", owner, renamed.error().text());
      });
}

unsigned Fleet::free_number(const std::string& cluster) const {
  std::set<unsigned> used;
  for (const auto& [id, proxy] : proxies_)
    if (proxy.cluster == cluster) used.insert(proxy.number);
  unsigned number = 1;
  while (used.contains(number)) ++number;
  return number;
}

void Fleet::create_for(const ProxyRequest& request) {
  const auto id = "pending-" + std::to_string(next_id_++);
  pending_[id] = {request.network, request.cluster(), {{request.unit, request}}};
  run_then(
      executor_, loop_, [this, network = request.network] { return host_.create(network); },
      [this, id](core::Result<HostedProxy> result) { created(id, std::move(result)); });
}

void Fleet::created(const std::string& pending, core::Result<HostedProxy> result) {
  const auto node = pending_.extract(pending);
  const auto& requests = node.mapped().requests;
  if (!result.ok()) {
    for (const auto& [unit, request] : requests) callbacks_.claim_failed(unit, result.error());
    return;
  }
  const auto id = result->id;
  auto& proxy = proxies_[id];
  proxy.host = std::move(result).value();
  for (const auto& [unit, request] : requests)
    if (!find(unit)) assign(proxy, request);
  // Let go only when it is gone; or everybody was found elsewhere meanwhile.
  if (node.mapped().unwanted || proxy.warm()) return remove_proxy(id);
  open_channel(proxy);
  notify_units(proxy);
}

void Fleet::remove(const std::string& unit) {
  for (auto& [id, pending] : pending_) {
    if (!pending.requests.contains(unit)) continue;
    if (pending.requests.size() == 1) {
      pending.unwanted = true;
      return;
    }
    pending.requests.erase(unit);
    return callbacks_.changed(unit);
  }
  if (const auto held = find(unit)) release_unit(*held.proxy, unit);
}

/// With its clusters being exchanged once, as the agent counts.
bool Fleet::outgrows(const Proxy& proxy, const std::string& unit, std::size_t watches) const {
  const auto others = room_of(proxy, unit);
  return others.services > 0 &&
         others.watches + watches + std::max(others.largest, watches) > proxy.capacity;
}

void Fleet::release_unit(Proxy& proxy, const std::string& name) {
  auto& unit = proxy.units.at(name);
  if (proxy.removing || unit.releasing()) return;
  unit.release_id = next_id_++;
  unit.sent = {};
  const bool last = std::all_of(proxy.units.begin(), proxy.units.end(),
                                [](const auto& item) { return item.second.releasing(); });
  if (last) return remove_proxy(proxy.host.id);
  send_release(proxy, name, unit);
}

void Fleet::send_release(Proxy& proxy, const std::string& name, Unit& releasing) {
  loop_.after(kReleaseTimeout,
              [this, name, id = releasing.release_id] { on_answer_timeout(name, id); });
  send(proxy, name, protocol::Release{releasing.release_id, name});
}

/// The agent has taken it away: address, listeners and all. By value: its name may be the very one
/// that is erased here.
void Fleet::unit_released(Proxy& proxy, std::string unit) {
  log::debug("proxy {}: released unit {}", proxy.host.name, unit);
  proxy.units.erase(unit);
  proxy.unsent.erase(unit);
  holders_.erase(unit);
  if (proxy.warm()) remove_proxy(proxy.host.id);
  callbacks_.changed(unit);
}

/// The proxy is no more, and its Services need another one.
void Fleet::drop_proxy(const std::string& id) {
  const auto node = proxies_.extract(id);
  for (const auto& [unit, state] : node.mapped().units) holders_.erase(unit);
  notify_units(node.mapped());
}

/// For people: the Service it serves, or how many.
std::string Fleet::describe(const Proxy& proxy) {
  if (proxy.warm()) return proxy.host.name;
  if (proxy.units.size() == 1) return proxy.units.begin()->second.owner;
  return std::to_string(proxy.units.size()) + " Services of " + proxy.cluster;
}

void Fleet::notify_units(const Proxy& proxy) {
  for (const auto& [unit, state] : proxy.units) callbacks_.changed(unit);
}

}  // namespace kindlb::controller
