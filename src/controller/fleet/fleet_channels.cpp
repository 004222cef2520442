// The fleet's talk with its agents: channels opened and opened again, and what is said on them.
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
/// An agent speaks first, at once; one that does not is hung, or the stream is.
constexpr std::chrono::milliseconds kHelloTimeout{10'000};
/// That many failures in a row, and we look whether the proxy is still what we take it for.
constexpr unsigned kRediscoverAfterFailures = 4;
/// Channels of adopted proxies are opened one after the other: each costs the engine an exec, and
/// nothing waits for it.
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

/// Adopted proxies serve without us; we listen to them to hear when their Envoy does not.
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
  if (result.ok()) return await_hello(id);  // that makes it usable
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

/// Nothing that was said before is answered any more.
void Fleet::reconnect(Proxy& proxy) {
  host_.disconnect(proxy.host.id);
  proxy.channel = Channel::Closed;
  abandon_sent(proxy);
  open_channel(proxy);
  notify_units(proxy);
}

void Fleet::abandon_sent(Proxy& proxy) {
  for (auto& [name, unit] : proxy.units) unit.sent = {};
}

void Fleet::send(Proxy& proxy, const std::string& unit, protocol::Message message) {
  if (proxy.channel == Channel::Open) {
    if (host_.send(proxy.host.id, message)) return;
    host_.disconnect(proxy.host.id);  // gone, or stuck: only a new one will take it
    proxy.channel = Channel::Closed;
  }
  proxy.unsent.insert_or_assign(unit, std::move(message));
  open_channel(proxy);
}

/// What came up while there was no channel; and who is to leave may not have been told.
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

/// The first words of a proxy that nobody is known to hold.
void Fleet::on_first_hello(Proxy& proxy) {
  if (!proxy.warm()) return callbacks_.discovered();  // its state could not be read before
  if (!proxy.host.current) return remove_proxy(proxy.host.id);
  refill_failures_ = 0;
  log::debug("proxy {}: warm", proxy.host.name);
  send_unsent(proxy);
}

void Fleet::on(Proxy& proxy, const protocol::Applied& applied) {
  const auto found = proxy.units.find(applied.unit);
  if (found == proxy.units.end()) return;
  auto& unit = found->second;
  if (unit.releasing() && applied.id == unit.release_id) return unit_released(proxy, found->first);
  if (unit.releasing() || applied.id != unit.last_apply) return;
  log::debug("{}: Envoy confirmed revision {}", unit.owner, applied.revision);
  unit.sent = {};
  unit.acknowledged = core::Revision::parse(applied.revision);
  unit.rejected = {};
  unit.rejection.clear();
  unit.address_refused = false;
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

/// By the message's number: an agent that could not read it knows no unit.
void Fleet::on(Proxy& proxy, const protocol::Rejected& rejected) {
  if (rejected.stage == protocol::RejectStage::Superseded) return;
  for (auto& [name, unit] : proxy.units) {
    if (unit.releasing() || unit.last_apply != rejected.id) continue;
    unit.sent = {};
    unit.rejected = core::Revision::parse(rejected.revision);
    unit.rejection = rejected.text;
    unit.address_refused = rejected.stage == protocol::RejectStage::Address;
    if (unit.address_refused) unit.addresses.clear();  // not held: another one may be chosen
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
  if (status.envoy == protocol::EnvoyState::Live) adopt_units(proxy, status.units);
  notify_units(proxy);
}

void Fleet::on(Proxy& proxy, const protocol::Bye& bye) {
  log::debug("proxy {}: its agent is stopping: {}", proxy.host.name, bye.reason);
}

}  // namespace kindlb::controller
