// The fleet's containers: found, adopted, started again, removed, and what the engine tells of
// them.
#include "kindlb/controller/fleet.hpp"
#include "kindlb/core/backoff.hpp"

#include <spdlog/spdlog.h>

#include <memory>
#include <utility>

namespace kindlb::controller {

namespace {

constexpr std::chrono::milliseconds kStartDelay{150};
constexpr std::chrono::milliseconds kRetryStart{1'000};
constexpr core::Backoff kRemovalBackoff{std::chrono::milliseconds(500),
                                        std::chrono::milliseconds(10'000)};

bool is_passing(core::ErrorKind kind) {
  return kind == core::ErrorKind::Unavailable || kind == core::ErrorKind::Timeout ||
         kind == core::ErrorKind::Cancelled;
}

}  // namespace

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
  open_next_channel();
}

void Fleet::adopt_one(HostedProxy found) {
  const auto id = found.id;
  if (const auto known = proxies_.find(id); known != proxies_.end()) {
    if (known->second.host.running && !found.running) container_died(id);
    if (!known->second.host.running && found.running) container_started(id);
    return;
  }
  if (!found.own_pool) return note_stranger(found);
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
    if (proxy.host.running && (proxy.host.current || !readable))
      open_channel(proxy);  // its Hello tells what it holds
    else
      remove_proxy(id);
    return;
  }
  if (!proxy.host.running) proxy.trouble = "the container is stopped";
  spdlog::debug("adopted {} for {}", proxy.host.name, proxy.owner);
  callbacks_.changed(proxy.unit);
}

/// Another kindlb's: of no concern to us but for the addresses it has.
void Fleet::note_stranger(const HostedProxy& found) {
  auto& stranger = strangers_[found.id];
  stranger = {found.network, {}};
  if (!found.state) return;
  for (const auto& unit : found.state->units)
    for (const auto& address : unit.addresses)
      stranger.addresses.emplace(address.address, unit.unit);
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
  strangers_.erase(id);
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

}  // namespace kindlb::controller
