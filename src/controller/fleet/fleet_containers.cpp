// The fleet's containers: discovery, adoption, restart, removal, and the engine's events about
// them.
//
// Adoption after a restart of kindlb: the engine lists all containers with our label, and the host
// reads each agent's state (a link's target, in about 2 ms). What the state lists as acknowledged
// counts as acknowledged, without a channel and without a single message, so that a restart writes
// nothing to the API (docs/contract.md §2) and traffic is not touched (§5). Channels follow later.
// A proxy whose state cannot be read is asked by its Hello before anything is decided about it.
#include "background.hpp"
#include "fleet/fleet.hpp"
#include "kindlb/core/backoff.hpp"
#include "kindlb/log/log.hpp"
#include "kindlb/proxy/containers.hpp"

#include <utility>

namespace kindlb::controller {

namespace {

constexpr std::chrono::milliseconds kStartDelay{150};
constexpr std::chrono::milliseconds kRetryStart{1'000};
constexpr core::Backoff kRemovalBackoff{std::chrono::milliseconds(500),
                                        std::chrono::milliseconds(10'000)};

bool is_transient(core::ErrorKind kind) {
  return kind == core::ErrorKind::Unavailable || kind == core::ErrorKind::Timeout ||
         kind == core::ErrorKind::Cancelled;
}

}  // namespace

void Fleet::discover() {
  if (std::exchange(discovering_, true)) {
    discover_again_ = true;  // the listing under way may be too old
    return;
  }
  // A proxy created while the engine is being asked is not gone just because the answer lacks it:
  // only those known before may be found missing.
  std::set<std::string> before;
  for (const auto& [id, proxy] : proxies_) before.insert(id);
  run_then(
      executor_, loop_, [this] { return host_.list(); },
      [this, before = std::move(before)](core::Result<std::vector<HostedProxy>> found) {
        listed(before, std::move(found));
      });
}

void Fleet::listed(const std::set<std::string>& before,
                   core::Result<std::vector<HostedProxy>> found) {
  if (!found.ok()) {
    log::warn("cannot list the proxies: {}", found.error().text());
    loop_.after(std::chrono::seconds(1), [this] {
      discovering_ = false;
      discover();
    });
    return;
  }
  discovering_ = false;
  adopt(before, std::move(found).value());
  if (std::exchange(discover_again_, false)) discover();
}

/// `gone`: the proxies known when the listing began. The order matters: what is missing goes first,
/// so that its units are free for a proxy in the list that reports them.
void Fleet::adopt(std::set<std::string> gone, std::vector<HostedProxy> found) {
  for (const auto& one : found) gone.erase(one.id);
  for (const auto& id : gone) container_destroyed(id);
  for (auto& one : found) adopt_one(std::move(one));
  discovered_ = true;
  callbacks_.discovered();
  refill_soon(std::chrono::milliseconds(0));
  open_next_channel();
}

void Fleet::adopt_one(HostedProxy found) {
  const auto id = found.id;
  if (const auto known = proxies_.find(id); known != proxies_.end()) {
    if (known->second.host.running && !found.running) container_died(id);
    if (!known->second.host.running && found.running) container_started(id);
    return;
  }
  if (!found.own_pool) return note_foreign_proxy(found);
  // The executor may be creating it at this moment: then created() or warm_created() adds it, with
  // the requests that wait for it. Adopting it here as well would offer it to other Services.
  const bool empty = !found.state || found.state->units.empty();
  if (empty && (!creating_warm_.empty() || !pending_.empty())) return;
  const bool readable = found.state.has_value();
  auto& proxy = proxies_[id];
  if (const auto name = proxy::parse_name(found.name)) proxy.number = name->number;
  proxy.host = std::move(found);
  if (proxy.host.state) {
    proxy.envoy = proxy.host.running ? proxy.host.state->envoy : protocol::EnvoyState::Down;
    proxy.capacity = proxy.host.state->watches;
    adopt_units(proxy, proxy.host.state->units);
  }
  proxy.host.state.reset();
  if (proxy.removing) return;
  if (proxy.warm()) {
    if (proxy.host.running && (proxy.host.current || !readable))
      open_channel(proxy);  // its Hello says what it holds
    else                    // outdated, or stopped and thus of no use to the pool
      remove_proxy(id);
    return;
  }
  if (!proxy.host.running) proxy.trouble = "its container is stopped";
  log::debug("proxy {}: adopted, serving {}", proxy.host.name, describe(proxy));
  notify_units(proxy);
}

/// A proxy of another kindlb's pool: only its addresses matter, which must not be given out here.
void Fleet::note_foreign_proxy(const HostedProxy& found) {
  auto& foreign = foreign_proxies_[found.id];
  foreign = {found.network, {}};
  if (!found.state) return;
  for (const auto& unit : found.state->units)
    for (const auto& address : unit.addresses)
      foreign.addresses.emplace(address.address, unit.unit);
}

/// Replace what the fleet believes about the proxy's units by what its agent reports. A unit that
/// is not reported stays assigned but not acknowledged, so that its next plan sends it again; one
/// that was being released and is not reported has been released.
void Fleet::adopt_units(Proxy& proxy, const std::vector<protocol::UnitState>& units) {
  std::set<std::string> seen;
  std::vector<std::string> duplicates;
  for (const auto& state : units) {
    // The first proxy to report a unit keeps it.
    const auto holder = holders_.try_emplace(state.unit, proxy.host.id).first;
    if (holder->second != proxy.host.id) {
      duplicates.push_back(state.unit);
      continue;
    }
    seen.insert(state.unit);
    auto& unit = proxy.units[state.unit];
    unit.owner = state.owner;
    unit.addresses = state.addresses;
    unit.watches = state.watches;
    unit.acknowledged =
        state.acknowledged ? core::Revision::parse(state.revision) : core::Revision{};
    proxy.cluster = protocol::cluster_of(state.owner);
  }
  std::vector<std::string> left;
  for (auto& [name, unit] : proxy.units) {
    if (seen.contains(name)) continue;
    unit.acknowledged = {};
    if (unit.releasing()) left.push_back(name);
  }
  for (const auto& name : left) unit_released(proxy, name);
  release_duplicates(proxy, duplicates);
}

/// These units are on another proxy as well, for example after a kindlb that was cut off moved
/// them. Two proxies must not answer for one address, so the one that reported them later loses
/// them.
void Fleet::release_duplicates(Proxy& proxy, const std::vector<std::string>& units) {
  if (units.empty() || proxy.removing) return;
  log::warn("proxy {}: holds {} Services that another proxy also serves; releasing them",
            proxy.host.name, units.size());
  if (proxy.warm()) return remove_proxy(proxy.host.id);
  for (const auto& unit : units) send(proxy, unit, protocol::Release{next_id_++, unit});
}

void Fleet::start(const std::string& unit) {
  auto* proxy = find(unit).proxy;
  if (proxy == nullptr || proxy->host.running || proxy->removing) return;
  if (std::exchange(proxy->starting, true)) return;
  // A container that died may be about to be removed: after this delay the event would be here.
  loop_.after(kStartDelay, [this, id = proxy->host.id] { start_now(id); });
}

void Fleet::start_now(const std::string& id) {
  if (!proxies_.contains(id)) return;
  run_then(
      executor_, loop_, [this, id] { return host_.start(id); },
      [this, id](const core::Result<void>& result) {
        const auto found = proxies_.find(id);
        if (found == proxies_.end()) return;
        found->second.starting = false;
        if (result.ok()) return container_started(id);
        on_start_failed(found->second, result.error());
      });
}

/// A container that cannot be restarted is removed, and its Services get another proxy. An engine
/// that is unreachable says nothing about the container, so then it is only tried again.
void Fleet::on_start_failed(Proxy& proxy, const core::Error& why) {
  log::warn("proxy {}: cannot be restarted: {}", proxy.host.name, why.text());
  if (!is_transient(why.kind)) return remove_proxy(proxy.host.id);
  loop_.after(kRetryStart, [this, id = proxy.host.id] {
    if (const auto found = proxies_.find(id); found != proxies_.end()) notify_units(found->second);
  });
}

/// Removal is retried until the engine confirms it: until then the proxy may still answer for its
/// addresses, and its Services must not be finished (docs/contract.md §1).
void Fleet::remove_proxy(const std::string& id) {
  auto& proxy = proxies_.at(id);
  if (std::exchange(proxy.removing, true)) return;
  const auto remove = [this, id] {
    host_.disconnect(id);
    return host_.remove(id);
  };
  run_then(executor_, loop_, remove,
           [this, id](const core::Result<void>& result) { removed(id, result); });
}

void Fleet::removed(const std::string& id, const core::Result<void>& result) {
  const auto found = proxies_.find(id);
  if (found == proxies_.end()) return;
  if (!result.ok()) {
    log::warn("proxy {}: cannot be removed: {}", found->second.host.name, result.error().text());
    const auto delay = core::delay_before(found->second.removal_failures++, kRemovalBackoff, 0.5);
    loop_.after(delay, [this, id] {
      const auto again = proxies_.find(id);
      if (again == proxies_.end()) return;
      again->second.removing = false;
      remove_proxy(id);
    });
    return;
  }
  drop_proxy(id);
  refill_after_loss();
}

/// A restarted agent takes up its stored units by itself; nothing counts as acknowledged until its
/// Hello or Status says so.
void Fleet::container_started(const std::string& id) {
  const auto found = proxies_.find(id);
  if (found == proxies_.end() || found->second.host.running) return;
  auto& proxy = found->second;
  proxy.host.running = true;
  proxy.channel = Channel::Closed;
  proxy.envoy = protocol::EnvoyState::Starting;
  for (auto& [name, unit] : proxy.units) unit.acknowledged = {};
  proxy.trouble = "its container was restarted";
  open_channel(proxy);
  notify_units(proxy);
}

void Fleet::container_died(const std::string& id) {
  const auto found = proxies_.find(id);
  if (found == proxies_.end() || found->second.removing || !found->second.host.running) return;
  auto& proxy = found->second;
  proxy.host.running = false;
  proxy.envoy = protocol::EnvoyState::Down;
  proxy.trouble = "its container has stopped";
  abandon_sent(proxy);
  if (proxy.warm()) {
    ++refill_failures_;  // back off: the next one may die the same way
    return remove_proxy(id);
  }
  log::warn("{}: its proxy container has stopped", describe(proxy));
  notify_units(proxy);
}

void Fleet::container_destroyed(const std::string& id) {
  foreign_proxies_.erase(id);
  const auto found = proxies_.find(id);
  if (found == proxies_.end()) return;
  if (!found->second.removing)
    log::warn("proxy {}: its container was removed by another program", found->second.host.name);
  drop_proxy(id);
  executor_.submit([this, id] {
    host_.disconnect(id);
    // Another program removed the container but not its volume.
    if (const auto rest = host_.remove(id); !rest.ok())
      log::debug("proxy {}: cannot remove what is left of it: {}", id, rest.error().text());
  });
  refill_after_loss();
}

}  // namespace kindlb::controller
