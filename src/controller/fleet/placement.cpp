#include "fleet/placement.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace kindlb::controller {

namespace {

/// A Service that is deleted before its claim must not keep a proxy out of the pool for long.
constexpr std::chrono::seconds kReservationTime{10};

void count_in(core::ProxyLoad& load, std::size_t watches) {
  ++load.services;
  load.watches += watches;
  load.largest = std::max(load.largest, watches);
}

core::ProxyLoad load_of_pending(const std::string& id, const Placement::PendingProxy& pending) {
  core::ProxyLoad out{.id = id,
                      .cluster = pending.cluster,
                      .network = pending.network,
                      .capacity = protocol::kUsualWatches,
                      .healthy = !pending.unwanted};
  for (const auto& [unit, request] : pending.requests) count_in(out, request.watches);
  return out;
}

}  // namespace

Placement::Placement(const ProxyRoster& roster, std::size_t services_per_proxy,
                     std::function<bool(const std::string& id)> is_connected)
    : roster_(roster),
      services_per_proxy_(services_per_proxy),
      is_connected_(std::move(is_connected)) {}

/// A warm proxy is of use only if it can serve at once; one that holds units and is still starting
/// is worth joining.
bool Placement::can_serve(const Proxy& proxy) const {
  if (!proxy.reachable() || proxy.faults.any() || !proxy.container.current) return false;
  return proxy.warm()
             ? proxy.envoy == protocol::EnvoyState::Live && is_connected_(proxy.container.id)
             : proxy.envoy != protocol::EnvoyState::Down;
}

/// Reservations count like units.
core::ProxyLoad Placement::load_of(const Proxy& proxy, const std::string& excluding,
                                   TimePoint now) const {
  core::ProxyLoad out{.id = proxy.container.id,
                      .cluster = proxy.cluster,
                      .network = proxy.container.network,
                      .capacity = proxy.capacity,
                      .healthy = can_serve(proxy)};
  for (const auto& [name, unit] : proxy.units)
    if (name != excluding) count_in(out, unit.watches());
  const auto reserved = reservations_.find(proxy.container.id);
  if (reserved == reservations_.end()) return out;
  for (const auto& [name, reservation] : reserved->second) {
    if (name == excluding || reservation.until <= now) continue;
    if (out.cluster.empty()) out.cluster = reservation.cluster;
    count_in(out, reservation.watches);
  }
  return out;
}

std::vector<core::ProxyLoad> Placement::loads(const std::string& excluding, TimePoint now) const {
  std::vector<core::ProxyLoad> out;
  for (const auto& [id, proxy] : roster_.proxies()) out.push_back(load_of(proxy, excluding, now));
  for (const auto& [id, pending] : pending_) out.push_back(load_of_pending(id, pending));
  return out;
}

/// Prefer the proxy where room is reserved, so that the address check made there counts.
std::optional<std::string> Placement::choose(const ProxyRequest& request, TimePoint now) const {
  const core::PlacementRequest need{request.cluster(), request.network, request.watches};
  for (const auto& [id, reservations] : reservations_)
    if (reservations.contains(request.unit) &&
        core::place({load_of(*roster_.find(id), request.unit, now)}, need, services_per_proxy_))
      return id;
  return core::place(loads(request.unit, now), need, services_per_proxy_);
}

/// While a unit's clusters are exchanged, Envoy watches the old files and the new ones, so there
/// must be room for the largest unit twice. The agent counts the same way and refuses what exceeds
/// its capacity. A unit that is alone on its proxy cannot do better elsewhere.
bool Placement::outgrows(const Proxy& proxy, const std::string& unit, TimePoint now) const {
  const auto watches = proxy.units.at(unit).watches();
  const auto others = load_of(proxy, unit, now);
  return others.services > 0 &&
         others.watches + watches + std::max(others.largest, watches) > proxy.capacity;
}

unsigned Placement::next_number(const std::string& cluster) const {
  if (services_per_proxy_ == 1) return 0;
  std::set<unsigned> used;
  for (const auto& [id, proxy] : roster_.proxies())
    if (proxy.cluster == cluster) used.insert(proxy.number);
  unsigned number = 1;
  while (used.contains(number)) ++number;
  return number;
}

bool Placement::reserve(const std::string& id, const ProxyRequest& request, TimePoint now) {
  auto& reservations = reservations_[id];
  std::erase_if(reservations, [&](const auto& item) { return item.second.until <= now; });
  return reservations
      .try_emplace(request.unit,
                   Reservation{request.cluster(), request.watches, now + kReservationTime})
      .second;
}

void Placement::cancel_reservation(const std::string& id, const std::string& unit) {
  const auto found = reservations_.find(id);
  if (found == reservations_.end()) return;
  found->second.erase(unit);
  if (found->second.empty()) reservations_.erase(found);
}

std::string Placement::begin(const ProxyRequest& request) {
  auto id = "pending-" + std::to_string(next_pending_++);
  pending_[id] = {request.network, request.cluster(), {{request.unit, request}}};
  return id;
}

bool Placement::join(const std::string& id, const ProxyRequest& request) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) return false;
  found->second.requests.emplace(request.unit, request);
  return true;
}

Placement::Withdrawal Placement::withdraw(const std::string& unit) {
  for (auto& [id, pending] : pending_) {
    if (!pending.requests.contains(unit)) continue;
    if (pending.requests.size() == 1) {
      pending.unwanted = true;
      return Withdrawal::Last;
    }
    pending.requests.erase(unit);
    return Withdrawal::Withdrawn;
  }
  return Withdrawal::NotWaiting;
}

Placement::PendingProxy Placement::finish(const std::string& id) {
  return std::move(pending_.extract(id).mapped());
}

bool Placement::is_waiting(const std::string& unit) const {
  return std::any_of(pending_.begin(), pending_.end(),
                     [&](const auto& item) { return item.second.requests.contains(unit); });
}

}  // namespace kindlb::controller
