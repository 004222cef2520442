// What the fleet is told: what happens to containers, and what agents say.
#include "fleet/fleet.hpp"
#include "kindlb/log/log.hpp"
#include "kindlb/proxy/containers.hpp"

#include <utility>

namespace kindlb::controller {

// ---- what happens to containers ----------------------------------------------------------------

void Fleet::container_started(const std::string& id) {
  const auto* proxy = roster_.find(id);
  if (proxy == nullptr || proxy->container.running) return;
  roster_.container_started(id);
  channels_.on_restart(id);
  notify_units(id);
}

void Fleet::container_died(const std::string& id) {
  const auto* proxy = roster_.find(id);
  if (proxy == nullptr || !proxy->container.running || proxy->removing) return;
  roster_.container_stopped(id);
  supervision_.forget(id);
  if (proxy->warm()) {
    pool_.on_died();
    return containers_.remove(id);
  }
  log::warn("{}: its proxy container has stopped", proxy->description());
  notify_units(id);
}

void Fleet::container_destroyed(const std::string& id) {
  discovery_.forget(id);
  const auto* proxy = roster_.find(id);
  if (proxy == nullptr) return;
  if (!proxy->removing)
    log::warn("proxy {}: its container was removed by another program", proxy->container.name);
  drop(id);
  containers_.remove_rest(id);
  pool_.refill_after_loss();
}

/// Forget a proxy whose container no longer exists; its units are planned again.
void Fleet::drop(const std::string& id) {
  const auto units = roster_.drop(id);
  channels_.forget(id);
  containers_.forget(id);
  supervision_.forget(id);
  placement_.forget(id);
  for (const auto& unit : units) callbacks_.changed(unit);
}

/// Give up a proxy that runs but cannot serve. Its Services get another one, with the same
/// addresses, when the engine has confirmed that nobody answers for them any more.
void Fleet::replace(const std::string& id) {
  const auto& proxy = *roster_.find(id);
  log::warn("{}: replacing its proxy {}", proxy.description(), proxy.container.name);
  if (proxy.warm()) pool_.on_died();
  containers_.remove(id);
  notify_units(id);
}

/// Adopt a proxy that an earlier run left, or compare one that is known with what is found. What
/// its agent's state lists as acknowledged counts as acknowledged, without a channel and without a
/// single message, so that a restart writes nothing to the API (docs/contract.md §2) and traffic is
/// not touched (§5). A proxy whose state cannot be read is asked by its Hello before anything is
/// decided about it.
void Fleet::adopt(HostedProxy found) {
  const auto id = found.id;
  if (knows(id)) {
    if (found.running) container_started(id);
    return supervision_.observe(found);
  }
  // The executor may be creating it at this moment: then created() or the pool adds it, with the
  // requests that wait for it. Adopting it here as well would offer it to other Services.
  const bool empty = !found.state || found.state->units.empty();
  if (empty && (pool_.is_creating() || placement_.has_pending())) return;
  const auto state = std::exchange(found.state, std::nullopt);
  const auto& proxy = roster_.add(std::move(found));
  if (const auto name = proxy::parse_name(proxy.container.name))
    roster_.set_number(id, name->number);
  if (state) {
    roster_.set_envoy(id, proxy.container.running ? state->envoy : protocol::EnvoyState::Down);
    roster_.set_capacity(id, state->watches);
    messages_.take_report(id, state->units);
  }
  if (proxy.removing) return;
  supervision_.observe(proxy.container);
  if (proxy.warm()) {
    if (proxy.container.running && (proxy.container.current || !state)) return channels_.open(id);
    return containers_.remove(id);  // outdated, or stopped and thus of no use to the pool
  }
  if (!proxy.container.running) roster_.set_trouble(id, "its container is stopped");
  log::debug("proxy {}: adopted, serving {}", proxy.container.name, proxy.description());
  notify_units(id);
}

void Fleet::notify_units(const std::string& id) const {
  for (const auto& unit : roster_.units_of(id)) callbacks_.changed(unit);
}

// ---- what agents say ---------------------------------------------------------------------------

/// Called on the host's thread. Messages of a proxy that is being removed no longer matter.
void Fleet::on_agent_message(const std::string& id, protocol::Message message) {
  loop_.post([this, id, message = std::move(message)] {
    const auto* proxy = roster_.find(id);
    if (proxy == nullptr || proxy->removing) return;
    supervision_.on_message(id, message);
    messages_.receive(id, message);
  });
}

void Fleet::on_channel_closed(const std::string& id, const std::string& why) {
  loop_.post([this, id, why] {
    if (roster_.find(id) == nullptr) return;
    supervision_.channel_lost(id);
    roster_.forget_sent(id);
    if (channels_.on_closed(id, why)) notify_units(id);
  });
}

}  // namespace kindlb::controller
