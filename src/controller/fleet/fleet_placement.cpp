// Which proxy a Service is assigned to, and how it is released again.
//
// The decision itself is core::place, a pure function of the proxies' free room. It is made once,
// when a Service has no proxy: later changes never move a Service off a healthy proxy that has room
// for it, because moving interrupts connections.
#include "background.hpp"
#include "fleet/fleet.hpp"
#include "kindlb/log/log.hpp"
#include "kindlb/proxy/containers.hpp"

#include <algorithm>
#include <utility>

namespace kindlb::controller {

namespace {

/// Longer than the agent's own timeout for Envoy's confirmation.
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

/// Describe the proxy to placement. A warm proxy counts as healthy only if it can serve at once;
/// one that holds units and is still starting is worth joining. Reservations count like units.
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
  const auto now = loop_.now();
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

/// Prefer the proxy where prepare() reserved room, so that the address check made there counts.
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

/// The name tells people what the container serves. It is written after the claim and may fail or
/// come late: ownership is what the agent holds, not the name. A container that a crashed kindlb
/// left with a stale name is renamed by its next claim.
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
  // All requests were withdrawn, or their units were meanwhile adopted from other proxies.
  if (node.mapped().unwanted || proxy.warm()) return remove_proxy(id);
  open_channel(proxy);
  notify_units(proxy);
}

void Fleet::remove(const std::string& unit) {
  for (auto& [id, pending] : pending_) {
    if (!pending.requests.contains(unit)) continue;
    // The last request stays, so that view() reports `coming` until the container is removed again.
    if (pending.requests.size() == 1) {
      pending.unwanted = true;
      return;
    }
    pending.requests.erase(unit);
    return callbacks_.changed(unit);
  }
  if (const auto held = find(unit)) release_unit(*held.proxy, unit);
}

/// While a unit's clusters are exchanged, Envoy watches the old files and the new ones, so there
/// must be room for the largest unit twice. The agent counts the same way and refuses what exceeds
/// its capacity. A unit that is alone on its proxy cannot do better elsewhere.
bool Fleet::outgrows(const Proxy& proxy, const std::string& unit, std::size_t watches) const {
  const auto others = room_of(proxy, unit);
  return others.services > 0 &&
         others.watches + watches + std::max(others.largest, watches) > proxy.capacity;
}

/// The last unit needs no Release: the container goes, with address, listeners and state.
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

/// The agent has removed address, listeners and routes of the unit. `unit` is taken by value: the
/// caller's may be a reference to the key that is erased here.
void Fleet::unit_released(Proxy& proxy, std::string unit) {
  log::debug("proxy {}: released unit {}", proxy.host.name, unit);
  proxy.units.erase(unit);
  proxy.unsent.erase(unit);
  holders_.erase(unit);
  if (proxy.warm()) remove_proxy(proxy.host.id);
  callbacks_.changed(unit);
}

/// Forget a proxy whose container no longer exists; its units are planned again.
void Fleet::drop_proxy(const std::string& id) {
  const auto node = proxies_.extract(id);
  for (const auto& [unit, state] : node.mapped().units) holders_.erase(unit);
  notify_units(node.mapped());
}

/// Name the proxy in log lines: the Service it serves, or how many.
std::string Fleet::describe(const Proxy& proxy) {
  if (proxy.warm()) return proxy.host.name;
  if (proxy.units.size() == 1) return proxy.units.begin()->second.owner;
  return std::to_string(proxy.units.size()) + " Services of " + proxy.cluster;
}

void Fleet::notify_units(const Proxy& proxy) {
  for (const auto& [unit, state] : proxy.units) callbacks_.changed(unit);
}

}  // namespace kindlb::controller
