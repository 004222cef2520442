#include "fleet/fleet.hpp"

#include "fleet/unit_message.hpp"
#include "kindlb/log/log.hpp"

#include <algorithm>
#include <utility>

namespace kindlb::controller {

namespace {

/// A Service that went away before its claim must not keep a proxy out of the pool.
constexpr std::chrono::seconds kPromise{10};
/// Beyond the agent's own limits for Envoy's word and for probes.
constexpr std::chrono::seconds kAnswerLimit{30};

std::vector<core::IpAddress> plain(const std::vector<core::Cidr>& addresses) {
  std::vector<core::IpAddress> out;
  out.reserve(addresses.size());
  for (const auto& address : addresses) out.push_back(address.address);
  return out;
}

}  // namespace

Fleet::Fleet(Loop& loop, base::ThreadPool& executor, ProxyHost& host, FleetOptions options,
             Callbacks callbacks)
    : loop_(loop),
      executor_(executor),
      host_(host),
      options_(options),
      callbacks_(std::move(callbacks)) {}

core::ProxyView Fleet::view(const std::string& unit) const {
  core::ProxyView out;
  out.coming = making_for(unit) != nullptr;
  const auto held = find(unit);
  if (!held) return out;
  if (held.proxy->removing || held.unit->leaving()) {
    out.coming = true;  // not free to be claimed again, nor torn down, until it is gone
    return out;
  }
  out.present = true;
  out.live = held.proxy->host.running && held.proxy->envoy == protocol::EnvoyState::Live;
  out.trouble = held.proxy->trouble;
  out.acknowledged = held.unit->acknowledged;
  out.sent = held.unit->sent;
  out.rejected = held.unit->rejected;
  out.rejection = held.unit->rejection;
  out.address_refused = held.unit->address_refused;
  out.reach = held.unit->reach;
  out.reach_detail = held.unit->reach_detail;
  out.addresses = plain(held.unit->addresses);
  return out;
}

std::vector<Fleet::Holding> Fleet::holdings() const {
  std::vector<Holding> out;
  for (const auto& [id, proxy] : proxies_) {
    if (proxy.removing) continue;
    for (const auto& [name, unit] : proxy.units)
      if (!unit.leaving()) out.push_back({id, name, unit.owner, proxy.host.running});
  }
  return out;
}

std::map<core::IpAddress, std::string> Fleet::held_addresses(const std::string& network) const {
  std::map<core::IpAddress, std::string> out;
  for (const auto& [id, proxy] : proxies_) {
    if (proxy.host.network != network) continue;
    for (const auto& [name, unit] : proxy.units)
      for (const auto& address : unit.addresses) out.emplace(address.address, name);
  }
  for (const auto& [id, stranger] : strangers_)
    if (stranger.network == network)
      out.insert(stranger.addresses.begin(), stranger.addresses.end());
  return out;
}

std::size_t Fleet::warm_count() const {
  return static_cast<std::size_t>(
      std::count_if(proxies_.begin(), proxies_.end(), [](const auto& item) {
        const auto& proxy = item.second;
        return proxy.warm() && !proxy.removing && proxy.channel == Channel::Open;
      }));
}

bool Fleet::has_warm() const {
  return !warming_.empty() || std::any_of(proxies_.begin(), proxies_.end(),
                                          [](const auto& item) { return item.second.warm(); });
}

void Fleet::prepare(const ProxyWish& wish, const std::vector<core::Cidr>& addresses) {
  if (find(wish.unit) || making_for(wish.unit) != nullptr) return;
  const auto chosen = choose(wish);
  const auto found = chosen ? proxies_.find(*chosen) : proxies_.end();
  if (found == proxies_.end()) return;
  auto& promises = found->second.promises;
  const auto now = Loop::Clock::now();
  std::erase_if(promises, [&](const auto& promise) { return promise.second.until <= now; });
  if (!promises.try_emplace(wish.unit, Promise{wish.cluster(), wish.watches, now + kPromise})
           .second)
    return;
  send(found->second, wish.unit, protocol::Prepare{next_id_++, addresses});
}

void Fleet::claim(const ProxyWish& wish) {
  if (find(wish.unit) || making_for(wish.unit) != nullptr) return;
  const auto chosen = choose(wish);
  if (!chosen) return make_for(wish);
  if (const auto coming = making_.find(*chosen); coming != making_.end()) {
    coming->second.wishes.emplace(wish.unit, wish);
    return;
  }
  auto& proxy = proxies_.at(*chosen);
  const bool was_warm = proxy.warm();
  hold(proxy, wish);
  if (was_warm) refill_soon(options_.refill_delay);
  callbacks_.changed(wish.unit);
}

void Fleet::apply(const std::string& name, const core::ProxyConfig& config,
                  const core::Revision& revision, const std::vector<core::Probe>& probes) {
  const auto [proxy, unit] = find(name);
  if (unit == nullptr || proxy->removing || unit->leaving()) return;
  unit->watches = core::watches_of(config);
  if (outgrows(*proxy, name, unit->watches)) {
    log::info("{}: needs more than its proxy has left; taking it to another one", unit->owner);
    return leave(*proxy, name);
  }
  unit->sent = revision;
  unit->reach = probes.empty() ? unit->reach : core::Reach::Unknown;
  unit->addresses = config.addresses;
  unit->last_apply = next_id_++;
  loop_.after(kAnswerLimit, [this, name, id = unit->last_apply] { give_up_waiting(name, id); });
  log::debug("{}: asking for {} with {} probes", unit->owner, revision.text(), probes.size());
  send(*proxy, name, protocol::Apply{unit->last_apply, unit_message(config, revision), probes});
}

/// An agent that does not answer may be stuck, or its answer lost: a new channel tells.
void Fleet::give_up_waiting(const std::string& name, std::uint64_t message) {
  const auto [proxy, unit] = find(name);
  if (unit == nullptr || proxy->removing || proxy->channel == Channel::Opening) return;
  const bool unanswered = unit->leaving() ? unit->release == message
                                          : unit->last_apply == message && !unit->sent.empty();
  if (!unanswered) return;
  log::warn("{}: no answer from the proxy's agent; asking again", unit->owner);
  reconnect(*proxy);
}

void Fleet::forget_failure(const std::string& name) {
  const auto [proxy, unit] = find(name);
  if (unit == nullptr) return;
  unit->rejected = {};
  unit->rejection.clear();
  unit->address_refused = false;
  unit->reach = core::Reach::Unknown;
  callbacks_.changed(name);
}

}  // namespace kindlb::controller
