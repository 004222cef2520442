#include "kindlb/controller/fleet.hpp"

#include "controller/unit_message.hpp"
#include "kindlb/core/backoff.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace kindlb::controller {

namespace {

constexpr core::Backoff kConnectBackoff{std::chrono::milliseconds(100),
                                        std::chrono::milliseconds(5'000)};
constexpr std::chrono::milliseconds kStartDelay{150};
constexpr std::chrono::milliseconds kRetryStart{1'000};
constexpr core::Backoff kRemovalBackoff{std::chrono::milliseconds(500),
                                        std::chrono::milliseconds(10'000)};
/// An agent speaks first, at once; one that does not is hung, or the stream is.
constexpr std::chrono::milliseconds kHelloLimit{10'000};
/// A Service that went away before its claim must not keep a proxy out of the pool.
constexpr std::chrono::seconds kPromise{10};
/// That many failures in a row, and we look whether the proxy is still what we take it for.
constexpr unsigned kLookAfterFailures = 4;
/// Beyond the agent's own limits for Envoy's word and for probes.
constexpr std::chrono::seconds kAnswerLimit{30};
/// Channels of adopted proxies are opened one after the other: each costs the engine an exec, and
/// nothing waits for it.
constexpr std::chrono::milliseconds kChannelPace{150};
constexpr core::Backoff kRefillBackoff{std::chrono::milliseconds(1'000),
                                       std::chrono::milliseconds(30'000)};

core::Reach worst(core::Reach a, core::Reach b) {
  return std::max(a, b);
}

core::Reach reach_of(proxy::ProbeResult result) {
  switch (result) {
    case proxy::ProbeResult::Reached:
      return core::Reach::Reached;
    case proxy::ProbeResult::Refused:
      return core::Reach::Refused;
    case proxy::ProbeResult::Unreachable:
      return core::Reach::Unreachable;
  }
  return core::Reach::Unreachable;
}

std::vector<core::IpAddress> plain(const std::vector<core::Cidr>& addresses) {
  std::vector<core::IpAddress> out;
  out.reserve(addresses.size());
  for (const auto& address : addresses) out.push_back(address.address);
  return out;
}

bool is_passing(core::ErrorKind kind) {
  return kind == core::ErrorKind::Unavailable || kind == core::ErrorKind::Timeout ||
         kind == core::ErrorKind::Cancelled;
}

}  // namespace

Fleet::Fleet(Loop& loop, Executor& executor, ProxyHost& host, FleetOptions options,
             Callbacks callbacks)
    : loop_(loop),
      executor_(executor),
      host_(host),
      options_(options),
      callbacks_(std::move(callbacks)) {}

// ---- looking and adopting ----------------------------------------------------------------------

void Fleet::discover() {
  if (std::exchange(discovering_, true)) {
    discover_again_ = true;  // the look under way may be too old
    return;
  }
  // What is made while the engine is being asked is not gone because the answer lacks it.
  std::set<std::string> before;
  for (const auto& [id, proxy] : proxies_) before.insert(id);
  executor_.submit([this, before = std::move(before)] {
    auto found = std::make_shared<core::Result<std::vector<HostedProxy>>>(host_.list());
    loop_.post([this, before, found] {
      if (!found->ok()) {
        spdlog::warn("cannot list the proxies: {}", found->error().text());
        loop_.after(std::chrono::seconds(1), [this] {
          discovering_ = false;
          discover();
        });
        return;
      }
      discovering_ = false;
      adopt(before, std::move(*found).value());
      if (std::exchange(discover_again_, false)) discover();
    });
  });
}

void Fleet::adopt(std::set<std::string> gone, std::vector<HostedProxy> found) {
  for (const auto& one : found) gone.erase(one.id);
  for (const auto& id : gone) container_destroyed(id);
  for (auto& one : found) adopt_one(std::move(one));
  discovered_ = true;
  callbacks_.discovered();
  refill_soon(std::chrono::milliseconds(0));
  loop_.after(kChannelPace, [this] { open_next_channel(); });
}

/// Adopted proxies serve without us; we listen to them to hear when their Envoy does not.
void Fleet::open_next_channel() {
  for (auto& [id, proxy] : proxies_) {
    if (proxy.unit.empty() || proxy.channel != Channel::Closed || proxy.removing ||
        !proxy.host.running || proxy.connect_failures > 0)
      continue;
    open_channel(proxy);
    loop_.after(kChannelPace, [this] { open_next_channel(); });
    return;
  }
}

void Fleet::adopt_one(HostedProxy found) {
  const auto id = found.id;
  if (const auto known = proxies_.find(id); known != proxies_.end()) {
    if (known->second.host.running && !found.running) container_died(id);
    if (!known->second.host.running && found.running) container_started(id);
    return;
  }
  // Another thread may be making it this very moment: whoever asked for it takes it in.
  const bool blank = !found.state || found.state->units.empty();
  if (blank && (!warming_.empty() || !coming_.empty())) return;
  const bool readable = found.state.has_value();
  auto& proxy = proxies_[id];
  proxy.host = std::move(found);
  if (proxy.host.state) {
    proxy.envoy = proxy.host.running ? proxy.host.state->envoy : proxy::EnvoyState::Down;
    take_state(proxy, proxy.host.state->units);
  }
  proxy.host.state.reset();
  if (proxy.unit.empty()) {
    if (!proxy.host.own_pool)
      proxies_.erase(id);
    else if (proxy.host.running && (proxy.host.current || !readable))
      open_channel(proxy);  // its Hello tells what it holds
    else
      remove_proxy(id);
    return;
  }
  if (!proxy.host.running) proxy.trouble = "the container is stopped";
  spdlog::debug("adopted {} for {}", proxy.host.name, proxy.owner);
  callbacks_.changed(proxy.unit);
}

void Fleet::take_state(Proxy& proxy, const std::vector<proxy::UnitState>& units) {
  const auto mine = std::find_if(units.begin(), units.end(), [&](const proxy::UnitState& unit) {
    return proxy.unit.empty() || unit.unit == proxy.unit;
  });
  if (mine == units.end()) {
    proxy.acknowledged = {};
    return;
  }
  proxy.unit = mine->unit;
  proxy.owner = mine->owner;
  proxy.addresses = mine->addresses;
  proxy.acknowledged =
      mine->acknowledged ? core::Revision::parse(mine->revision) : core::Revision{};
}

// ---- channels ----------------------------------------------------------------------------------

void Fleet::open_channel(Proxy& proxy) {
  if (proxy.channel != Channel::Closed || proxy.removing || !proxy.host.running) return;
  proxy.channel = Channel::Opening;
  executor_.submit([this, id = proxy.host.id] {
    auto result = std::make_shared<core::Result<void>>(host_.connect(id));
    loop_.post([this, id, result] { channel_opened(id, *result); });
  });
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
  spdlog::debug("no channel to {}: {}", proxy.host.name, result.error().text());
  if (result.error().kind == core::ErrorKind::NotFound) return container_destroyed(id);
  reopen_later(proxy);
}

void Fleet::await_hello(const std::string& id) {
  if (proxies_.at(id).channel != Channel::Opening) return;
  loop_.after(kHelloLimit, [this, id] {
    const auto found = proxies_.find(id);
    if (found == proxies_.end() || found->second.channel != Channel::Opening) return;
    spdlog::debug("{} does not say hello", found->second.host.name);
    host_.disconnect(id);
    found->second.channel = Channel::Closed;
    reopen_later(found->second);
  });
}

void Fleet::reopen_later(Proxy& proxy) {
  const auto id = proxy.host.id;
  const auto delay = core::delay_before(proxy.connect_failures++, kConnectBackoff, 0.5);
  if (proxy.connect_failures % kLookAfterFailures == 0) discover();
  loop_.after(delay, [this, id] {
    if (const auto again = proxies_.find(id); again != proxies_.end()) open_channel(again->second);
  });
}

void Fleet::agent_said(const std::string& id, proxy::Message message) {
  loop_.post([this, id, message = std::move(message)] {
    const auto found = proxies_.find(id);
    if (found == proxies_.end() || found->second.removing) return;
    std::visit([&](const auto& one) { on(found->second, one); }, message);
  });
}

void Fleet::agent_lost(const std::string& id, const std::string& why) {
  loop_.post([this, id, why] {
    const auto found = proxies_.find(id);
    if (found == proxies_.end()) return;
    auto& proxy = found->second;
    proxy.channel = Channel::Closed;
    proxy.sent = {};
    if (proxy.removing || !proxy.host.running) return;
    spdlog::debug("lost the channel to {}: {}", proxy.host.name, why);
    reopen_later(proxy);
    if (!proxy.unit.empty()) callbacks_.changed(proxy.unit);
  });
}

void Fleet::send(Proxy& proxy, proxy::Message message) {
  if (proxy.channel == Channel::Open) {
    if (host_.send(proxy.host.id, message)) return;
    host_.disconnect(proxy.host.id);  // gone, or stuck: only a new one will take it
    proxy.channel = Channel::Closed;
  }
  proxy.waiting = std::move(message);
  open_channel(proxy);
}

void Fleet::on(Proxy& proxy, const proxy::Hello& hello) {
  proxy.channel = Channel::Open;
  proxy.connect_failures = 0;
  proxy.envoy = hello.envoy;
  if (hello.envoy == proxy::EnvoyState::Live) proxy.trouble.clear();
  const bool was_blank = proxy.unit.empty();
  take_state(proxy, hello.units);
  if (was_blank) return met(proxy);
  if (auto waiting = std::exchange(proxy.waiting, std::nullopt)) send(proxy, std::move(*waiting));
  callbacks_.changed(proxy.unit);
}

/// The first words of a proxy that nobody is known to hold.
void Fleet::met(Proxy& proxy) {
  if (!proxy.unit.empty()) return callbacks_.discovered();  // its state could not be read before
  if (!proxy.host.current) return remove_proxy(proxy.host.id);
  refill_failures_ = 0;
  spdlog::debug("{} is warm", proxy.host.name);
  if (auto waiting = std::exchange(proxy.waiting, std::nullopt)) send(proxy, std::move(*waiting));
}

void Fleet::on(Proxy& proxy, const proxy::Applied& applied) {
  if (applied.id != proxy.last_apply) return;
  proxy.sent = {};
  proxy.acknowledged = core::Revision::parse(applied.revision);
  proxy.rejected = {};
  proxy.rejection.clear();
  proxy.address_refused = false;
  if (!applied.probes.empty()) {
    proxy.reach = core::Reach::Reached;
    proxy.reach_detail.clear();
  }
  for (const auto& probe : applied.probes) {
    const auto reach = reach_of(probe.result);
    if (reach > proxy.reach) proxy.reach_detail = probe.detail;
    proxy.reach = worst(proxy.reach, reach);
  }
  callbacks_.changed(proxy.unit);
}

void Fleet::on(Proxy& proxy, const proxy::Rejected& rejected) {
  if (rejected.id != proxy.last_apply || rejected.stage == proxy::RejectStage::Superseded) return;
  proxy.sent = {};
  proxy.rejected = core::Revision::parse(rejected.revision);
  proxy.rejection = rejected.text;
  proxy.address_refused = rejected.stage == proxy::RejectStage::Address;
  if (proxy.address_refused) proxy.addresses.clear();  // not held: another one may be chosen
  spdlog::warn("{}: the proxy refused its configuration: {}", proxy.owner, rejected.text);
  callbacks_.changed(proxy.unit);
}

void Fleet::on(Proxy& proxy, const proxy::Status& status) {
  proxy.envoy = status.envoy;
  proxy.trouble = status.envoy == proxy::EnvoyState::Live ? "" : status.text;
  if (status.envoy == proxy::EnvoyState::Down)
    spdlog::warn("{}: Envoy {}", proxy.owner.empty() ? proxy.host.name : proxy.owner, status.text);
  if (proxy.unit.empty()) return;
  if (status.envoy == proxy::EnvoyState::Live) take_state(proxy, status.units);
  callbacks_.changed(proxy.unit);
}

void Fleet::on(Proxy& proxy, const proxy::Bye& bye) {
  spdlog::debug("{} says goodbye: {}", proxy.host.name, bye.reason);
}

// ---- Services ----------------------------------------------------------------------------------

Fleet::Proxy* Fleet::holder_of(const std::string& unit) {
  return const_cast<Proxy*>(std::as_const(*this).holder_of(unit));
}

const Fleet::Proxy* Fleet::holder_of(const std::string& unit) const {
  for (const auto& [id, proxy] : proxies_)
    if (proxy.unit == unit && !unit.empty()) return &proxy;
  return nullptr;
}

core::ProxyView Fleet::view(const std::string& unit) const {
  core::ProxyView out;
  out.coming = coming_.contains(unit);
  const auto* proxy = holder_of(unit);
  if (proxy == nullptr) return out;
  if (proxy->removing) {
    out.coming = true;  // not free to be claimed again, nor torn down, until it is gone
    return out;
  }
  out.present = true;
  out.live = proxy->host.running && proxy->envoy == proxy::EnvoyState::Live;
  out.trouble = proxy->trouble;
  out.acknowledged = proxy->acknowledged;
  out.sent = proxy->sent;
  out.rejected = proxy->rejected;
  out.rejection = proxy->rejection;
  out.address_refused = proxy->address_refused;
  out.reach = proxy->reach;
  out.reach_detail = proxy->reach_detail;
  out.addresses = plain(proxy->addresses);
  return out;
}

std::vector<Fleet::Holding> Fleet::holdings() const {
  std::vector<Holding> out;
  for (const auto& [id, proxy] : proxies_)
    if (!proxy.unit.empty() && !proxy.removing)
      out.push_back({id, proxy.unit, proxy.owner, proxy.host.running});
  return out;
}

std::map<core::IpAddress, std::string> Fleet::held_addresses(const std::string& network) const {
  std::map<core::IpAddress, std::string> out;
  for (const auto& [id, proxy] : proxies_) {
    if (proxy.host.network != network || proxy.unit.empty()) continue;
    for (const auto& address : proxy.addresses) out.emplace(address.address, proxy.unit);
  }
  return out;
}

Fleet::Proxy* Fleet::warm_for(const std::string& unit, const std::string& network) {
  Proxy* best = nullptr;
  const auto now = Loop::Clock::now();
  for (auto& [id, proxy] : proxies_) {
    const bool ready = proxy.unit.empty() && !proxy.removing && proxy.host.network == network &&
                       proxy.channel == Channel::Open && proxy.envoy == proxy::EnvoyState::Live;
    if (!ready) continue;
    if (proxy.promised == unit) return &proxy;
    const bool free = proxy.promised.empty() || proxy.promised_until <= now;
    if (free && best == nullptr) best = &proxy;
  }
  return best;
}

std::size_t Fleet::warm_count() const {
  return static_cast<std::size_t>(
      std::count_if(proxies_.begin(), proxies_.end(), [](const auto& item) {
        const auto& proxy = item.second;
        return proxy.unit.empty() && !proxy.removing && proxy.channel == Channel::Open;
      }));
}

bool Fleet::has_warm() const {
  return !warming_.empty() || std::any_of(proxies_.begin(), proxies_.end(), [](const auto& item) {
    return item.second.unit.empty();
  });
}

void Fleet::prepare(const std::string& unit, const std::string& network,
                    const std::vector<core::Cidr>& addresses) {
  auto* proxy = holder_of(unit) != nullptr ? nullptr : warm_for(unit, network);
  if (proxy == nullptr || proxy->promised == unit) return;
  proxy->promised = unit;
  proxy->promised_until = Loop::Clock::now() + kPromise;
  send(*proxy, proxy::Prepare{next_id_++, addresses});
}

void Fleet::hold(Proxy& proxy, const std::string& unit, const std::string& owner) {
  proxy.unit = unit;
  proxy.owner = owner;
  proxy.promised.clear();
  executor_.submit([this, id = proxy.host.id, unit, owner] {
    if (const auto renamed = host_.rename(id, owner, unit); !renamed.ok())
      spdlog::debug("cannot name the proxy of {}: {}", owner, renamed.error().text());
  });
}

void Fleet::claim(const std::string& unit, const std::string& owner, const std::string& network) {
  if (holder_of(unit) != nullptr || coming_.contains(unit)) return;
  if (auto* proxy = warm_for(unit, network)) {
    hold(*proxy, unit, owner);
    refill_soon(options_.refill_delay);
    callbacks_.changed(unit);
    return;
  }
  create_for(unit, owner, network);
}

void Fleet::create_for(const std::string& unit, const std::string& owner,
                       const std::string& network) {
  coming_.insert_or_assign(unit, Coming{owner, network});
  executor_.submit([this, unit, network] {
    auto result = std::make_shared<core::Result<HostedProxy>>(host_.create(network));
    loop_.post([this, unit, result] { created_for(unit, std::move(*result)); });
  });
}

void Fleet::created_for(const std::string& unit, core::Result<HostedProxy> result) {
  const auto node = coming_.extract(unit);
  const auto& wish = node.mapped();
  if (!result.ok()) {
    callbacks_.claim_failed(unit, result.error());
    return;
  }
  const auto id = result->id;
  auto& proxy = proxies_[id];
  proxy.host = std::move(result).value();
  if (wish.unwanted) {
    proxy.unit = unit;  // the Service is let go only when it is gone
    proxy.owner = wish.owner;
    return remove_proxy(id);
  }
  hold(proxy, unit, wish.owner);
  open_channel(proxy);
  callbacks_.changed(unit);
}

void Fleet::apply(const std::string& unit, const core::ProxyConfig& config,
                  const core::Revision& revision, const std::vector<core::Probe>& probes) {
  auto* proxy = holder_of(unit);
  if (proxy == nullptr || proxy->removing) return;
  proxy->sent = revision;
  proxy->reach = probes.empty() ? proxy->reach : core::Reach::Unknown;
  proxy->addresses = config.addresses;
  proxy->last_apply = next_id_++;
  loop_.after(kAnswerLimit, [this, id = proxy->host.id, apply = proxy->last_apply] {
    give_up_waiting(id, apply);
  });
  send(*proxy, proxy::Apply{proxy->last_apply, unit_message(config, revision), probes});
}

/// An agent that does not answer may be stuck, or its answer lost: a new channel tells.
void Fleet::give_up_waiting(const std::string& id, std::uint64_t apply) {
  const auto found = proxies_.find(id);
  if (found == proxies_.end() || found->second.removing) return;
  auto& proxy = found->second;
  if (proxy.last_apply != apply || proxy.sent.empty() || proxy.channel == Channel::Opening) return;
  spdlog::warn("{}: no answer from the proxy's agent; asking again", proxy.owner);
  host_.disconnect(id);
  proxy.channel = Channel::Closed;
  proxy.sent = {};
  open_channel(proxy);
  callbacks_.changed(proxy.unit);
}

void Fleet::forget_failure(const std::string& unit) {
  auto* proxy = holder_of(unit);
  if (proxy == nullptr) return;
  proxy->rejected = {};
  proxy->rejection.clear();
  proxy->address_refused = false;
  proxy->reach = core::Reach::Unknown;
  callbacks_.changed(unit);
}

void Fleet::start(const std::string& unit) {
  auto* proxy = holder_of(unit);
  if (proxy == nullptr || proxy->host.running || proxy->removing) return;
  if (std::exchange(proxy->starting, true)) return;
  // A container that died may be on its way out: its removal would be told by now.
  loop_.after(kStartDelay, [this, id = proxy->host.id] { start_now(id); });
}

void Fleet::start_now(const std::string& id) {
  if (!proxies_.contains(id)) return;
  executor_.submit([this, id] {
    auto result = std::make_shared<core::Result<void>>(host_.start(id));
    loop_.post([this, id, result] {
      const auto found = proxies_.find(id);
      if (found == proxies_.end()) return;
      found->second.starting = false;
      if (result->ok()) return container_started(id);
      not_started(found->second, result->error());
    });
  });
}

/// A container that does not start again is of no use: its Service gets another one. An engine that
/// is away says nothing about the container.
void Fleet::not_started(Proxy& proxy, const core::Error& why) {
  spdlog::warn("{} does not start again: {}", proxy.host.name, why.text());
  if (!is_passing(why.kind)) return remove_proxy(proxy.host.id);
  loop_.after(kRetryStart, [this, unit = proxy.unit] { callbacks_.changed(unit); });
}

void Fleet::remove(const std::string& unit) {
  if (const auto coming = coming_.find(unit); coming != coming_.end()) {
    coming->second.unwanted = true;
    return;
  }
  if (auto* proxy = holder_of(unit)) remove_proxy(proxy->host.id);
}

void Fleet::remove_proxy(const std::string& id) {
  auto& proxy = proxies_.at(id);
  if (std::exchange(proxy.removing, true)) return;
  executor_.submit([this, id] {
    host_.disconnect(id);
    auto result = std::make_shared<core::Result<void>>(host_.remove(id));
    loop_.post([this, id, result] { removed(id, *result); });
  });
}

void Fleet::removed(const std::string& id, const core::Result<void>& result) {
  const auto found = proxies_.find(id);
  if (found == proxies_.end()) return;
  if (!result.ok()) {
    spdlog::warn("cannot remove {}: {}", found->second.host.name, result.error().text());
    const auto delay = core::delay_before(found->second.removal_failures++, kRemovalBackoff, 0.5);
    loop_.after(delay, [this, id] {
      const auto again = proxies_.find(id);
      if (again == proxies_.end()) return;
      again->second.removing = false;
      remove_proxy(id);
    });
    return;
  }
  const auto unit = found->second.unit;
  proxies_.erase(found);
  if (!unit.empty()) callbacks_.changed(unit);
  refill_after_loss();
}

// ---- the engine's events -----------------------------------------------------------------------

void Fleet::container_started(const std::string& id) {
  const auto found = proxies_.find(id);
  if (found == proxies_.end() || found->second.host.running) return;
  auto& proxy = found->second;
  proxy.host.running = true;
  proxy.channel = Channel::Closed;
  proxy.envoy = proxy::EnvoyState::Starting;
  proxy.acknowledged = {};
  proxy.trouble = "the container was started again";
  open_channel(proxy);
  if (!proxy.unit.empty()) callbacks_.changed(proxy.unit);
}

void Fleet::container_died(const std::string& id) {
  const auto found = proxies_.find(id);
  if (found == proxies_.end() || found->second.removing || !found->second.host.running) return;
  auto& proxy = found->second;
  proxy.host.running = false;
  proxy.envoy = proxy::EnvoyState::Down;
  proxy.trouble = "its container stopped";
  proxy.sent = {};
  if (proxy.unit.empty()) {
    ++refill_failures_;  // if the next one ends like this, too, we must not go on and on
    return remove_proxy(id);
  }
  spdlog::warn("{}: the proxy container stopped", proxy.owner);
  callbacks_.changed(proxy.unit);
}

void Fleet::container_destroyed(const std::string& id) {
  const auto found = proxies_.find(id);
  if (found == proxies_.end()) return;
  const auto unit = found->second.unit;
  if (!found->second.removing)
    spdlog::warn("the proxy container {} was removed", found->second.host.name);
  proxies_.erase(found);
  executor_.submit([this, id] {
    host_.disconnect(id);
    // Its volume is still there, unless the removal was our own.
    if (const auto rest = host_.remove(id); !rest.ok())
      spdlog::debug("leftovers of {}: {}", id, rest.error().text());
  });
  if (!unit.empty()) callbacks_.changed(unit);
  refill_after_loss();
}

// ---- the warm pool -----------------------------------------------------------------------------

void Fleet::keep_warm_on(std::set<std::string> networks) {
  if (networks_ == networks) return;
  networks_ = std::move(networks);
  if (discovered_) refill_soon(std::chrono::milliseconds(0));
}

void Fleet::refill_soon(std::chrono::milliseconds delay) {
  const auto when = Loop::Clock::now() + delay;
  if (refill_at_ && *refill_at_ <= when) return;
  refill_at_ = when;
  loop_.after(delay, [this, when] {
    if (refill_at_ != when) return;  // an earlier one took its place
    refill_at_.reset();
    refill();
  });
}

void Fleet::refill_after_loss() {
  refill_soon(refill_failures_ == 0
                  ? options_.refill_delay
                  : core::delay_before(refill_failures_ - 1, kRefillBackoff, 0.5));
}

void Fleet::refill() {
  if (!discovered_) return;
  trim_warm();
  for (const auto& network : networks_) {
    std::size_t have = warming_.contains(network) ? warming_.at(network) : 0;
    for (const auto& [id, proxy] : proxies_)
      if (proxy.unit.empty() && !proxy.removing && proxy.host.network == network) ++have;
    for (; have < options_.warm_proxies; ++have) create_warm(network);
  }
}

void Fleet::trim_warm() {
  std::vector<std::string> surplus;
  for (const auto& [id, proxy] : proxies_)
    if (proxy.unit.empty() && !proxy.removing && !networks_.contains(proxy.host.network))
      surplus.push_back(id);
  for (const auto& id : surplus) remove_proxy(id);
}

void Fleet::create_warm(const std::string& network) {
  ++warming_[network];
  executor_.submit([this, network] {
    auto result = std::make_shared<core::Result<HostedProxy>>(host_.create(network));
    loop_.post([this, network, result] {
      if (--warming_[network] == 0) warming_.erase(network);
      if (!result->ok()) {
        spdlog::warn("cannot start a warm proxy on network {}: {}", network,
                     result->error().text());
        refill_soon(core::delay_before(refill_failures_++, kRefillBackoff, 0.5));
        return;
      }
      const auto id = (*result)->id;
      auto& proxy = proxies_[id];
      proxy.host = std::move(*result).value();
      open_channel(proxy);
      trim_warm();
    });
  });
}

}  // namespace kindlb::controller
