// The fleet's Services on their proxies: which goes where, and how it leaves again.
#include "fleet/fleet.hpp"
#include "kindlb/log/log.hpp"
#include "kindlb/proxy/containers.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace kindlb::controller {

namespace {

/// Beyond the agent's own limit for Envoy's word.
constexpr std::chrono::seconds kReleaseLimit{15};

}  // namespace

Fleet::Held Fleet::find(const std::string& unit) const {
  const auto holder = holders_.find(unit);
  if (holder == holders_.end()) return {};
  auto& proxy = const_cast<Proxy&>(proxies_.at(holder->second));
  return {&proxy, &proxy.units.at(unit)};
}

const Fleet::Making* Fleet::making_for(const std::string& unit) const {
  const auto found = std::find_if(making_.begin(), making_.end(), [&](const auto& item) {
    return item.second.wishes.contains(unit);
  });
  return found == making_.end() ? nullptr : &found->second;
}

/// A warm one must be able to serve at once; one that is on its way up is worth joining.
core::ProxyLoad Fleet::room_of(const Proxy& proxy, const std::string& but_for) const {
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
    if (name != but_for) count(unit.watches);
  const auto now = Loop::Clock::now();
  for (const auto& [name, promise] : proxy.promises) {
    if (name == but_for || promise.until <= now) continue;
    if (out.cluster.empty()) out.cluster = promise.cluster;
    count(promise.watches);
  }
  return out;
}

std::vector<core::ProxyLoad> Fleet::rooms(const std::string& but_for) const {
  std::vector<core::ProxyLoad> out;
  for (const auto& [id, proxy] : proxies_) out.push_back(room_of(proxy, but_for));
  for (const auto& [id, making] : making_) {
    core::ProxyLoad room{.id = id,
                         .cluster = making.cluster,
                         .network = making.network,
                         .services = making.wishes.size(),
                         .capacity = protocol::kUsualWatches,
                         .healthy = !making.unwanted};
    for (const auto& [unit, wish] : making.wishes) {
      room.watches += wish.watches;
      room.largest = std::max(room.largest, wish.watches);
    }
    out.push_back(std::move(room));
  }
  return out;
}

/// Where it was promised room, if that is still there.
std::optional<std::string> Fleet::choose(const ProxyWish& wish) const {
  const core::PlacementRequest need{wish.cluster(), wish.network, wish.watches};
  for (const auto& [id, proxy] : proxies_)
    if (proxy.promises.contains(wish.unit) &&
        core::place({room_of(proxy, wish.unit)}, need, options_.services_per_proxy))
      return id;
  return core::place(rooms(wish.unit), need, options_.services_per_proxy);
}

void Fleet::hold(Proxy& proxy, const ProxyWish& wish) {
  const bool first = proxy.warm();
  proxy.cluster = wish.cluster();
  proxy.units[wish.unit] = {.owner = wish.owner, .watches = wish.watches};
  proxy.promises.erase(wish.unit);
  holders_[wish.unit] = proxy.host.id;
  if (!first) return;
  if (options_.services_per_proxy != 1) proxy.number = free_number(proxy.cluster);
  name(proxy, wish.unit, wish.owner);
}

/// For people: nothing depends on it.
void Fleet::name(const Proxy& proxy, const std::string& unit, const std::string& owner) {
  executor_.submit(
      [this, id = proxy.host.id, cluster = proxy.cluster, number = proxy.number, unit, owner] {
        const auto renamed =
            number == 0 ? host_.rename(id, owner, unit) : host_.rename_shared(id, cluster, number);
        if (!renamed.ok())
          log::debug("cannot name the proxy of {}: {}", owner, renamed.error().text());
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

void Fleet::make_for(const ProxyWish& wish) {
  const auto id = "making-" + std::to_string(next_id_++);
  making_[id] = {wish.network, wish.cluster(), {{wish.unit, wish}}};
  executor_.submit([this, id, network = wish.network] {
    auto result = std::make_shared<core::Result<HostedProxy>>(host_.create(network));
    loop_.post([this, id, result] { made(id, std::move(*result)); });
  });
}

void Fleet::made(const std::string& making, core::Result<HostedProxy> result) {
  const auto node = making_.extract(making);
  const auto& wishes = node.mapped().wishes;
  if (!result.ok()) {
    for (const auto& [unit, wish] : wishes) callbacks_.claim_failed(unit, result.error());
    return;
  }
  const auto id = result->id;
  auto& proxy = proxies_[id];
  proxy.host = std::move(result).value();
  for (const auto& [unit, wish] : wishes)
    if (!find(unit)) hold(proxy, wish);
  // Let go only when it is gone; or everybody was found elsewhere meanwhile.
  if (node.mapped().unwanted || proxy.warm()) return remove_proxy(id);
  open_channel(proxy);
  tell_all(proxy);
}

void Fleet::remove(const std::string& unit) {
  for (auto& [id, making] : making_) {
    if (!making.wishes.contains(unit)) continue;
    if (making.wishes.size() == 1) {
      making.unwanted = true;
      return;
    }
    making.wishes.erase(unit);
    return callbacks_.changed(unit);
  }
  if (const auto held = find(unit)) leave(*held.proxy, unit);
}

/// With its clusters being exchanged once, as the agent counts.
bool Fleet::outgrows(const Proxy& proxy, const std::string& unit, std::size_t watches) const {
  const auto others = room_of(proxy, unit);
  return others.services > 0 &&
         others.watches + watches + std::max(others.largest, watches) > proxy.capacity;
}

void Fleet::leave(Proxy& proxy, const std::string& name) {
  auto& unit = proxy.units.at(name);
  if (proxy.removing || unit.leaving()) return;
  unit.release = next_id_++;
  unit.sent = {};
  const bool last = std::all_of(proxy.units.begin(), proxy.units.end(),
                                [](const auto& item) { return item.second.leaving(); });
  if (last) return remove_proxy(proxy.host.id);
  send_release(proxy, name, unit);
}

void Fleet::send_release(Proxy& proxy, const std::string& name, Unit& leaving) {
  loop_.after(kReleaseLimit, [this, name, id = leaving.release] { give_up_waiting(name, id); });
  send(proxy, name, protocol::Release{leaving.release, name});
}

/// The agent has taken it away: address, listeners and all. By value: its name may be the very one
/// that is erased here.
void Fleet::gone(Proxy& proxy, std::string unit) {
  log::debug("{} has left {}", unit, proxy.host.name);
  proxy.units.erase(unit);
  proxy.waiting.erase(unit);
  holders_.erase(unit);
  if (proxy.warm()) remove_proxy(proxy.host.id);
  callbacks_.changed(unit);
}

/// The proxy is no more, and its Services need another one.
void Fleet::forget(const std::string& id) {
  const auto node = proxies_.extract(id);
  for (const auto& [unit, state] : node.mapped().units) holders_.erase(unit);
  tell_all(node.mapped());
}

/// For people: the Service it serves, or how many.
std::string Fleet::title(const Proxy& proxy) {
  if (proxy.warm()) return proxy.host.name;
  if (proxy.units.size() == 1) return proxy.units.begin()->second.owner;
  return std::to_string(proxy.units.size()) + " Services of " + proxy.cluster;
}

void Fleet::tell_all(const Proxy& proxy) {
  for (const auto& [unit, state] : proxy.units) callbacks_.changed(unit);
}

}  // namespace kindlb::controller
