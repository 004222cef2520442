#include "fleet/agent_messages.hpp"

#include "fleet/render_unit.hpp"
#include "kindlb/log/log.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace kindlb::controller {

namespace {

/// Longer than the agent's own timeouts for Envoy's confirmation and for probes: when this passes,
/// the agent hangs or the answer is lost.
constexpr std::chrono::seconds kApplyTimeout{30};
/// Longer than the agent's own timeout for Envoy's confirmation.
constexpr std::chrono::seconds kReleaseTimeout{15};

}  // namespace

AgentMessages::AgentMessages(ProxyRoster& roster, AgentChannels& channels, Callbacks callbacks)
    : roster_(roster), channels_(channels), callbacks_(std::move(callbacks)) {}

// ---- kindlb -> agent ---------------------------------------------------------------------------

void AgentMessages::apply(const core::ProxyConfig& config, const core::Revision& revision,
                          const std::vector<core::Probe>& probes) {
  auto& unit = *roster_.unit(config.unit);
  const auto request = channels_.next_request_id();
  unit.begin_apply(request, revision, config.addresses, !probes.empty());
  channels_.expect_answer(config.unit, request, kApplyTimeout);
  log::debug("{}: sending revision {} with {} probes", unit.owner(), revision.text(),
             probes.size());
  channels_.send(roster_.holder_of(config.unit)->container.id, config.unit,
                 protocol::Apply{request, render_unit(config, revision), probes});
}

void AgentMessages::release(const std::string& name) {
  auto& unit = *roster_.unit(name);
  const auto& proxy = *roster_.holder_of(name);
  if (proxy.removing || unit.releasing()) return;
  unit.begin_release(channels_.next_request_id());
  const bool last = std::all_of(proxy.units.begin(), proxy.units.end(),
                                [](const auto& item) { return item.second.releasing(); });
  if (last) return callbacks_.unneeded(proxy.container.id);
  send_release(proxy.container.id, name);
}

void AgentMessages::send_release(const std::string& id, const std::string& unit) {
  const auto request = roster_.unit(unit)->release_id();
  channels_.expect_answer(unit, request, kReleaseTimeout);
  channels_.send(id, unit, protocol::Release{request, unit});
}

/// Send what was asked for while there was no channel. A Release may have been lost with the old
/// channel, and the agent still reports the unit, so each is repeated, under a new id.
void AgentMessages::send_unsent(const std::string& id) {
  auto unsent = channels_.take_unsent(id);
  for (const auto& name : roster_.units_of(id)) {
    auto& unit = *roster_.unit(name);
    if (!unit.releasing()) continue;
    unsent.erase(name);
    unit.begin_release(channels_.next_request_id());
    send_release(id, name);
  }
  for (auto& [unit, message] : unsent) channels_.send(id, unit, std::move(message));
}

// ---- agent -> kindlb ---------------------------------------------------------------------------

void AgentMessages::receive(const std::string& id, const protocol::Message& message) {
  std::visit([&](const auto& one) { on(id, one); }, message);
}

void AgentMessages::on(const std::string& id, const protocol::Hello& hello) {
  channels_.on_hello(id);
  roster_.set_envoy(id, hello.envoy);
  roster_.set_capacity(id, hello.watches);
  const auto& proxy = *roster_.find(id);
  const bool was_warm = proxy.warm();
  take_report(id, hello.units);
  if (proxy.removing) return;
  if (was_warm) return on_first_hello(id);
  send_unsent(id);
  notify_units(id);
}

/// The Hello of a proxy without units: a new or an adopted one. It may report units after all, when
/// its state file could not be read at adoption.
void AgentMessages::on_first_hello(const std::string& id) {
  const auto& proxy = *roster_.find(id);
  if (!proxy.warm()) return callbacks_.adopted();
  // An outdated warm proxy is of no use; an outdated one that serves stays while it is healthy.
  if (!proxy.container.current) return callbacks_.unneeded(id);
  // One that begins with a fault is no reason to create the next one without delay.
  if (!proxy.faults.any()) callbacks_.warm();
  log::debug("proxy {}: warm", proxy.container.name);
  send_unsent(id);
}

void AgentMessages::on(const std::string& id, const protocol::Applied& applied) {
  if (!roster_.find(id)->units.contains(applied.unit)) return;
  auto& unit = *roster_.unit(applied.unit);
  // Applied answers Release, too.
  if (unit.releasing() && applied.id == unit.release_id()) return unit_released(applied.unit);
  if (!unit.confirm(applied)) return;
  log::debug("{}: Envoy confirmed revision {}", unit.owner(), applied.revision);
  callbacks_.changed(applied.unit);
}

/// Found by the request's id, since an agent that could not read the request cannot name the unit.
void AgentMessages::on(const std::string& id, const protocol::Rejected& rejected) {
  for (const auto& name : roster_.units_of(id)) {
    auto& unit = *roster_.unit(name);
    if (!unit.reject(rejected)) continue;
    log::warn("{}: the proxy rejected its configuration: {}", unit.owner(), rejected.text);
    return callbacks_.changed(name);
  }
}

void AgentMessages::on(const std::string& id, const protocol::Status& status) {
  const bool live = status.envoy == protocol::EnvoyState::Live;
  roster_.set_envoy(id, status.envoy);
  if (!live) roster_.set_trouble(id, status.text);
  const auto& proxy = *roster_.find(id);
  if (status.envoy == protocol::EnvoyState::Down)
    log::warn("{}: Envoy is down: {}", proxy.description(), status.text);
  if (proxy.warm()) return;
  // Only a live Envoy has acknowledged anything; before that the list says nothing new.
  if (live) take_report(id, status.units);
  notify_units(id);
}

void AgentMessages::on(const std::string& id, const protocol::Bye& bye) {
  log::debug("proxy {}: its agent is stopping: {}", roster_.find(id)->container.name, bye.reason);
}

// ---- what a proxy holds ------------------------------------------------------------------------

void AgentMessages::take_report(const std::string& id,
                                const std::vector<protocol::UnitState>& units) {
  const auto reported = roster_.report(id, units);
  for (const auto& unit : reported.released) unit_released(unit);
  release_duplicates(id, reported.duplicates);
}

/// The agent has removed address, listeners and routes of the unit. `unit` is taken by value: the
/// caller's may be a reference to the key that is erased here.
void AgentMessages::unit_released(std::string unit) {
  const auto& proxy = *roster_.holder_of(unit);
  log::debug("proxy {}: released unit {}", proxy.container.name, unit);
  roster_.release(unit);
  channels_.discard_unsent(proxy.container.id, unit);
  if (proxy.warm()) callbacks_.unneeded(proxy.container.id);
  callbacks_.changed(unit);
}

/// These units are on another proxy as well, for example after a kindlb that was cut off moved
/// them. The proxy that reported them later loses them.
void AgentMessages::release_duplicates(const std::string& id,
                                       const std::vector<std::string>& units) {
  const auto& proxy = *roster_.find(id);
  if (units.empty() || proxy.removing) return;
  log::warn("proxy {}: holds {} Services that another proxy also serves; releasing them",
            proxy.container.name, units.size());
  if (proxy.warm()) return callbacks_.unneeded(id);
  for (const auto& unit : units)
    channels_.send(id, unit, protocol::Release{channels_.next_request_id(), unit});
}

void AgentMessages::notify_units(const std::string& id) const {
  for (const auto& unit : roster_.units_of(id)) callbacks_.changed(unit);
}

}  // namespace kindlb::controller
