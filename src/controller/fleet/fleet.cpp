#include "fleet/fleet.hpp"

#include "fleet/render_unit.hpp"
#include "kindlb/log/log.hpp"

#include <algorithm>
#include <utility>

namespace kindlb::controller {

namespace {

/// A Service that is deleted before its claim must not keep a proxy out of the pool for long.
constexpr std::chrono::seconds kReservationTime{10};
/// Longer than the agent's own timeouts for Envoy's confirmation and for probes: when this passes,
/// the agent hangs or the answer is lost.
constexpr std::chrono::seconds kAnswerTimeout{30};

std::vector<core::IpAddress> addresses_only(const std::vector<core::Cidr>& addresses) {
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
  out.coming = pending_for(unit) != nullptr;
  const auto held = find(unit);
  if (!held) return out;
  if (held.proxy->removing || held.unit->releasing()) {
    out.coming = true;  // neither to be claimed again nor to be torn down until it is gone
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
  out.addresses = addresses_only(held.unit->addresses);
  return out;
}

std::vector<Fleet::HeldUnit> Fleet::held_units() const {
  std::vector<HeldUnit> out;
  for (const auto& [id, proxy] : proxies_) {
    if (proxy.removing) continue;
    for (const auto& [name, unit] : proxy.units)
      if (!unit.releasing()) out.push_back({id, name, unit.owner, proxy.host.running});
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
  for (const auto& [id, foreign] : foreign_proxies_)
    if (foreign.network == network) out.insert(foreign.addresses.begin(), foreign.addresses.end());
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
  return !creating_warm_.empty() ||
         std::any_of(proxies_.begin(), proxies_.end(),
                     [](const auto& item) { return item.second.warm(); });
}

void Fleet::prepare(const ProxyRequest& request, const std::vector<core::Cidr>& addresses) {
  if (find(request.unit) || pending_for(request.unit) != nullptr) return;
  const auto chosen = choose_proxy(request);
  const auto found = chosen ? proxies_.find(*chosen) : proxies_.end();
  if (found == proxies_.end()) return;
  auto& reservations = found->second.reservations;
  const auto now = loop_.now();
  std::erase_if(reservations,
                [&](const auto& reservation) { return reservation.second.until <= now; });
  if (!reservations
           .try_emplace(request.unit,
                        Reservation{request.cluster(), request.watches, now + kReservationTime})
           .second)
    return;
  send(found->second, request.unit, protocol::Prepare{next_id_++, addresses});
}

void Fleet::claim(const ProxyRequest& request) {
  if (find(request.unit) || pending_for(request.unit) != nullptr) return;
  const auto chosen = choose_proxy(request);
  if (!chosen) return create_for(request);
  // A proxy that is being created is as good a choice as an existing one.
  if (const auto coming = pending_.find(*chosen); coming != pending_.end()) {
    coming->second.requests.emplace(request.unit, request);
    return;
  }
  auto& proxy = proxies_.at(*chosen);
  const bool was_warm = proxy.warm();
  assign(proxy, request);
  if (was_warm) refill_soon(options_.refill_delay);
  callbacks_.changed(request.unit);
}

void Fleet::apply(const std::string& name, const core::ProxyConfig& config,
                  const core::Revision& revision, const std::vector<core::Probe>& probes) {
  const auto [proxy, unit] = find(name);
  if (unit == nullptr || proxy->removing || unit->releasing()) return;
  // A Service that grows beyond its proxy leaves it; once the release is confirmed, its next plan
  // claims another proxy, and the address moves along.
  unit->watches = core::watches_of(config);
  if (outgrows(*proxy, name, unit->watches)) {
    log::info("{}: needs more file watches than its proxy has left; moving it to another proxy",
              unit->owner);
    return release_unit(*proxy, name);
  }
  unit->sent = revision;
  unit->reach = probes.empty() ? unit->reach : core::Reach::Unknown;
  unit->addresses = config.addresses;
  unit->last_apply = next_id_++;
  loop_.after(kAnswerTimeout, [this, name, id = unit->last_apply] { on_answer_timeout(name, id); });
  log::debug("{}: sending revision {} with {} probes", unit->owner, revision.text(), probes.size());
  send(*proxy, name, protocol::Apply{unit->last_apply, render_unit(config, revision), probes});
}

/// An agent that does not answer hangs, or its answer was lost. The Hello on a new channel says
/// what it holds, and what is missing is sent again. Only the newest request counts: the timers of
/// older ones find another id and do nothing.
void Fleet::on_answer_timeout(const std::string& name, std::uint64_t message) {
  const auto [proxy, unit] = find(name);
  if (unit == nullptr || proxy->removing || proxy->channel == Channel::Opening) return;
  const bool unanswered = unit->releasing() ? unit->release_id == message
                                            : unit->last_apply == message && !unit->sent.empty();
  if (!unanswered) return;
  log::warn("{}: the proxy's agent does not answer; reconnecting", unit->owner);
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
