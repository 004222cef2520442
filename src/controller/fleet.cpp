#include "kindlb/controller/fleet.hpp"

#include "controller/unit_message.hpp"

#include <spdlog/spdlog.h>

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

Fleet::Fleet(Loop& loop, Executor& executor, ProxyHost& host, FleetOptions options,
             Callbacks callbacks)
    : loop_(loop),
      executor_(executor),
      host_(host),
      options_(options),
      callbacks_(std::move(callbacks)) {}

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
  for (const auto& [id, stranger] : strangers_)
    if (stranger.network == network)
      out.insert(stranger.addresses.begin(), stranger.addresses.end());
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
  spdlog::debug("{}: asking for {} with {} probes", proxy->owner, revision.text(), probes.size());
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

}  // namespace kindlb::controller
