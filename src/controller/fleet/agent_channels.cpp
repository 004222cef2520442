#include "fleet/agent_channels.hpp"

#include "kindlb/core/backoff.hpp"
#include "kindlb/log/log.hpp"

#include <utility>

namespace kindlb::controller {

namespace {

constexpr core::Backoff kConnectBackoff{std::chrono::milliseconds(100),
                                        std::chrono::milliseconds(5'000)};
/// An agent sends Hello at once. One that does not hangs, or its stream does.
constexpr std::chrono::milliseconds kHelloTimeout{10'000};
/// After this many failures in a row the engine is asked whether the container still exists.
constexpr unsigned kDoubtfulAfterFailures = 4;
/// Channels of adopted proxies are opened one after the other: each costs the engine an exec, and
/// nothing depends on them, because what these proxies hold is known from their state files.
constexpr std::chrono::milliseconds kChannelInterval{150};

}  // namespace

AgentChannels::AgentChannels(Loop& loop, AsyncHost& host, const ProxyRoster& roster,
                             Callbacks callbacks)
    : loop_(loop), host_(host), roster_(roster), callbacks_(std::move(callbacks)) {}

AgentChannels::State AgentChannels::state_of(const std::string& id) const {
  const auto found = channels_.find(id);
  return found == channels_.end() ? State::Closed : found->second.state;
}

bool AgentChannels::is_open(const std::string& id) const {
  return state_of(id) == State::Open;
}

void AgentChannels::open(const std::string& id) {
  auto& channel = channels_[id];
  if (channel.state != State::Closed || !roster_.find(id)->reachable()) return;
  channel.state = State::Opening;
  host_.connect(id, [this, id](const core::Result<void>& result) { opened(id, result); });
}

/// Adopted proxies serve without kindlb; their channels are needed to learn when Envoy goes down.
/// Those that failed before are left to reopen_later().
void AgentChannels::open_next_adopted() {
  for (const auto& [id, proxy] : roster_.proxies()) {
    if (proxy.warm() || !proxy.reachable() || state_of(id) != State::Closed) continue;
    if (channels_[id].failures > 0) continue;
    open(id);
    loop_.after(kChannelInterval, [this] { open_next_adopted(); });
    return;
  }
}

void AgentChannels::opened(const std::string& id, const core::Result<void>& result) {
  const auto* proxy = roster_.find(id);
  if (proxy == nullptr) return host_.disconnect(id);
  if (result.ok()) return await_hello(id);
  channels_[id].state = State::Closed;
  callbacks_.refused(id);
  log::debug("proxy {}: cannot open a channel: {}", proxy->container.name, result.error().text());
  if (result.error().kind == core::ErrorKind::NotFound) return callbacks_.container_missing(id);
  reopen_later(id);
}

void AgentChannels::await_hello(const std::string& id) {
  if (state_of(id) != State::Opening) return;
  callbacks_.opened(id);
  loop_.after(kHelloTimeout, [this, id] {
    if (state_of(id) != State::Opening) return;
    log::debug("proxy {}: no Hello from its agent; reconnecting", roster_.find(id)->container.name);
    close(id);
    reopen_later(id);
  });
}

void AgentChannels::close(const std::string& id) {
  host_.disconnect(id);
  channels_[id].state = State::Closed;
}

void AgentChannels::reopen_later(const std::string& id) {
  auto& failures = channels_[id].failures;
  const auto delay = core::delay_before(failures++, kConnectBackoff, 0.5);
  if (failures % kDoubtfulAfterFailures == 0) callbacks_.doubtful();
  loop_.after(delay, [this, id] {
    if (roster_.find(id) != nullptr) open(id);
  });
}

void AgentChannels::on_hello(const std::string& id) {
  auto& channel = channels_[id];
  channel.state = State::Open;
  channel.failures = 0;
}

bool AgentChannels::on_closed(const std::string& id, const std::string& why) {
  channels_[id].state = State::Closed;
  const auto* proxy = roster_.find(id);
  if (!proxy->reachable()) return false;
  log::debug("proxy {}: lost the channel: {}", proxy->container.name, why);
  reopen_later(id);
  return true;
}

void AgentChannels::on_restart(const std::string& id) {
  channels_[id].state = State::Closed;
  open(id);
}

void AgentChannels::reopen(const std::string& id) {
  if (!is_open(id)) return;
  log::debug("proxy {}: its agent is silent; reconnecting", roster_.find(id)->container.name);
  close(id);
  open(id);
  callbacks_.lost(id);
}

void AgentChannels::send(const std::string& id, const std::string& unit,
                         protocol::Message message) {
  if (is_open(id)) {
    if (host_.send(id, message)) return;
    close(id);  // broken or full: only a new channel will take it
  }
  channels_[id].unsent.insert_or_assign(unit, std::move(message));
  open(id);
}

AgentChannels::Messages AgentChannels::take_unsent(const std::string& id) {
  return std::exchange(channels_[id].unsent, {});
}

void AgentChannels::discard_unsent(const std::string& id, const std::string& unit) {
  channels_[id].unsent.erase(unit);
}

void AgentChannels::expect_answer(const std::string& unit, std::uint64_t request,
                                  std::chrono::milliseconds within) {
  loop_.after(within, [this, unit, request] { on_answer_timeout(unit, request); });
}

/// An agent that does not answer hangs, or its answer was lost. The Hello on a new channel says
/// what it holds, and what is missing is sent again. The timers of older requests find that the
/// unit awaits another one, and do nothing.
void AgentChannels::on_answer_timeout(const std::string& name, std::uint64_t request) {
  const auto* proxy = roster_.holder_of(name);
  if (proxy == nullptr || proxy->removing) return;
  const auto id = proxy->container.id;
  const auto& unit = proxy->units.at(name);
  if (state_of(id) == State::Opening || !unit.awaits(request)) return;
  log::warn("{}: the proxy's agent does not answer; reconnecting", unit.owner());
  if (is_open(id)) return reopen(id);
  open(id);
  callbacks_.lost(id);
}

}  // namespace kindlb::controller
