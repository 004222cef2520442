// The fleet's channels to its agents: opened, opened again with back-off, and the messages on them.
//
// A channel is a stream that can break at any moment, with requests unsent or answers unread. There
// is no replay. When it is lost, every `sent` is cleared, so that the planner sees an unanswered
// revision as not sent; when the next Hello arrives, adopt_units() takes over what the agent really
// holds, and the plans that follow send what is missing. A request is thus repeated at most once
// per channel, and an agent that got the first one finds nothing to change.
#include "background.hpp"
#include "fleet/fleet.hpp"
#include "kindlb/core/backoff.hpp"
#include "kindlb/log/log.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace kindlb::controller {

namespace {

constexpr core::Backoff kConnectBackoff{std::chrono::milliseconds(100),
                                        std::chrono::milliseconds(5'000)};
/// An agent sends Hello at once. One that does not hangs, or its stream does.
constexpr std::chrono::milliseconds kHelloTimeout{10'000};
/// After this many failures in a row the engine is asked whether the container still exists.
constexpr unsigned kRediscoverAfterFailures = 4;
/// Channels of adopted proxies are opened one after the other: each costs the engine an exec, and
/// nothing depends on them, because what these proxies hold is known from their state files.
constexpr std::chrono::milliseconds kChannelInterval{150};

core::Reach worst(core::Reach a, core::Reach b) {
  return std::max(a, b);
}

core::Reach reach_of(protocol::ProbeResult result) {
  switch (result) {
    case protocol::ProbeResult::Reached:
      return core::Reach::Reached;
    case protocol::ProbeResult::Refused:
      return core::Reach::Refused;
    case protocol::ProbeResult::Unreachable:
      return core::Reach::Unreachable;
  }
  return core::Reach::Unreachable;
}

}  // namespace

/// Adopted proxies serve without kindlb; their channels are needed to learn when Envoy goes down.
/// Those that failed before are left to reopen_later().
void Fleet::open_next_channel() {
  for (auto& [id, proxy] : proxies_) {
    if (proxy.warm() || proxy.channel != Channel::Closed || proxy.removing || !proxy.host.running ||
        proxy.connect_failures > 0)
      continue;
    open_channel(proxy);
    loop_.after(kChannelInterval, [this] { open_next_channel(); });
    return;
  }
}

void Fleet::open_channel(Proxy& proxy) {
  if (proxy.channel != Channel::Closed || proxy.removing || !proxy.host.running) return;
  proxy.channel = Channel::Opening;
  run_then(
      executor_, loop_, [this, id = proxy.host.id] { return host_.connect(id); },
      [this, id = proxy.host.id](const core::Result<void>& result) { channel_opened(id, result); });
}

void Fleet::channel_opened(const std::string& id, const core::Result<void>& result) {
  const auto found = proxies_.find(id);
  if (found == proxies_.end()) {
    host_.disconnect(id);
    return;
  }
  auto& proxy = found->second;
  if (result.ok()) return await_hello(id);  // usable only after Hello
  proxy.channel = Channel::Closed;
  log::debug("proxy {}: cannot open a channel: {}", proxy.host.name, result.error().text());
  if (result.error().kind == core::ErrorKind::NotFound) return container_destroyed(id);
  reopen_later(proxy);
}

void Fleet::await_hello(const std::string& id) {
  if (proxies_.at(id).channel != Channel::Opening) return;
  loop_.after(kHelloTimeout, [this, id] {
    const auto found = proxies_.find(id);
    if (found == proxies_.end() || found->second.channel != Channel::Opening) return;
    log::debug("proxy {}: no Hello from its agent; reconnecting", found->second.host.name);
    host_.disconnect(id);
    found->second.channel = Channel::Closed;
    reopen_later(found->second);
  });
}

void Fleet::reopen_later(Proxy& proxy) {
  const auto id = proxy.host.id;
  const auto delay = core::delay_before(proxy.connect_failures++, kConnectBackoff, 0.5);
  if (proxy.connect_failures % kRediscoverAfterFailures == 0) discover();
  loop_.after(delay, [this, id] {
    if (const auto again = proxies_.find(id); again != proxies_.end()) open_channel(again->second);
  });
}

/// Called on the host's thread. Messages of a proxy that is being removed no longer matter.
void Fleet::on_agent_message(const std::string& id, protocol::Message message) {
  loop_.post([this, id, message = std::move(message)] {
    const auto found = proxies_.find(id);
    if (found == proxies_.end() || found->second.removing) return;
    std::visit([&](const auto& one) { on(found->second, one); }, message);
  });
}

void Fleet::on_channel_closed(const std::string& id, const std::string& why) {
  loop_.post([this, id, why] {
    const auto found = proxies_.find(id);
    if (found == proxies_.end()) return;
    auto& proxy = found->second;
    proxy.channel = Channel::Closed;
    abandon_sent(proxy);
    if (proxy.removing || !proxy.host.running) return;
    log::debug("proxy {}: lost the channel: {}", proxy.host.name, why);
    reopen_later(proxy);
    notify_units(proxy);
  });
}

/// Replace a channel that seems to hang. Requests sent on the old one will not be answered.
void Fleet::reconnect(Proxy& proxy) {
  host_.disconnect(proxy.host.id);
  proxy.channel = Channel::Closed;
  abandon_sent(proxy);
  open_channel(proxy);
  notify_units(proxy);
}

/// Without the channel no answer will come: the planner must see these revisions as not sent.
void Fleet::abandon_sent(Proxy& proxy) {
  for (auto& [name, unit] : proxy.units) unit.sent = {};
}

void Fleet::send(Proxy& proxy, const std::string& unit, protocol::Message message) {
  if (proxy.channel == Channel::Open) {
    if (host_.send(proxy.host.id, message)) return;
    host_.disconnect(proxy.host.id);  // broken or full: only a new channel will take it
    proxy.channel = Channel::Closed;
  }
  proxy.unsent.insert_or_assign(unit, std::move(message));
  open_channel(proxy);
}

/// Send what was asked for while there was no channel. A Release may have been lost with the old
/// channel, and the agent still reports the unit, so each is repeated, under a new id.
void Fleet::send_unsent(Proxy& proxy) {
  auto unsent = std::exchange(proxy.unsent, {});
  for (auto& [name, unit] : proxy.units) {
    if (!unit.releasing()) continue;
    unsent.erase(name);
    unit.release_id = next_id_++;
    send_release(proxy, name, unit);
  }
  for (auto& [unit, message] : unsent) send(proxy, unit, std::move(message));
}

void Fleet::on(Proxy& proxy, const protocol::Hello& hello) {
  proxy.channel = Channel::Open;
  proxy.connect_failures = 0;
  proxy.envoy = hello.envoy;
  proxy.capacity = hello.watches;
  if (hello.envoy == protocol::EnvoyState::Live) proxy.trouble.clear();
  const bool was_empty = proxy.warm();
  adopt_units(proxy, hello.units);
  if (proxy.removing) return;
  if (was_empty) return on_first_hello(proxy);
  send_unsent(proxy);
  notify_units(proxy);
}

/// The Hello of a proxy without units: a new or an adopted one. It may report units after all, when
/// its state file could not be read at adoption.
void Fleet::on_first_hello(Proxy& proxy) {
  if (!proxy.warm()) return callbacks_.discovered();
  // An outdated warm proxy is of no use; an outdated one that serves stays while it is healthy.
  if (!proxy.host.current) return remove_proxy(proxy.host.id);
  refill_failures_ = 0;
  log::debug("proxy {}: warm", proxy.host.name);
  send_unsent(proxy);
}

void Fleet::on(Proxy& proxy, const protocol::Applied& applied) {
  const auto found = proxy.units.find(applied.unit);
  if (found == proxy.units.end()) return;
  auto& unit = found->second;
  // Applied answers Release, too. Answers to anything but the newest request are ignored.
  if (unit.releasing() && applied.id == unit.release_id) return unit_released(proxy, found->first);
  if (unit.releasing() || applied.id != unit.last_apply) return;
  log::debug("{}: Envoy confirmed revision {}", unit.owner, applied.revision);
  unit.sent = {};
  unit.acknowledged = core::Revision::parse(applied.revision);
  unit.rejected = {};
  unit.rejection.clear();
  unit.address_refused = false;
  // The worst outcome counts: every reported address and port must answer (docs/contract.md §2).
  if (!applied.probes.empty()) {
    unit.reach = core::Reach::Reached;
    unit.reach_detail.clear();
  }
  for (const auto& probe : applied.probes) {
    const auto reach = reach_of(probe.result);
    if (reach > unit.reach) unit.reach_detail = probe.detail;
    unit.reach = worst(unit.reach, reach);
  }
  callbacks_.changed(found->first);
}

/// Found by the request's id, since an agent that could not read the request cannot name the unit.
/// The former revision still serves, so `acknowledged` stays (docs/contract.md §2).
void Fleet::on(Proxy& proxy, const protocol::Rejected& rejected) {
  if (rejected.stage == protocol::RejectStage::Superseded) return;
  for (auto& [name, unit] : proxy.units) {
    if (unit.releasing() || unit.last_apply != rejected.id) continue;
    unit.sent = {};
    unit.rejected = core::Revision::parse(rejected.revision);
    unit.rejection = rejected.text;
    unit.address_refused = rejected.stage == protocol::RejectStage::Address;
    if (unit.address_refused) unit.addresses.clear();  // not assigned: another may be chosen
    log::warn("{}: the proxy rejected its configuration: {}", unit.owner, rejected.text);
    return callbacks_.changed(name);
  }
}

void Fleet::on(Proxy& proxy, const protocol::Status& status) {
  proxy.envoy = status.envoy;
  proxy.trouble = status.envoy == protocol::EnvoyState::Live ? "" : status.text;
  if (status.envoy == protocol::EnvoyState::Down)
    log::warn("{}: Envoy is down: {}", describe(proxy), status.text);
  if (proxy.warm()) return;
  // Only a live Envoy has acknowledged anything; before that the list says nothing new.
  if (status.envoy == protocol::EnvoyState::Live) adopt_units(proxy, status.units);
  notify_units(proxy);
}

void Fleet::on(Proxy& proxy, const protocol::Bye& bye) {
  log::debug("proxy {}: its agent is stopping: {}", proxy.host.name, bye.reason);
}

}  // namespace kindlb::controller
