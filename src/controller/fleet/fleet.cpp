#include "fleet/fleet.hpp"

#include "kindlb/log/log.hpp"

#include <algorithm>
#include <utility>

namespace kindlb::controller {

Fleet::Fleet(Loop& loop, base::ThreadPool& executor, ProxyHost& host, FleetOptions options,
             Callbacks callbacks)
    : loop_(loop),
      callbacks_(std::move(callbacks)),
      host_(loop, executor, host),
      channels_(loop, host_, roster_,
                {.lost =
                     [this](const std::string& id) {
                       roster_.forget_sent(id);
                       notify_units(id);
                     },
                 .opened = [this](const std::string& id) { supervision_.channel_opened(id); },
                 .refused = [this](const std::string& id) { supervision_.channel_lost(id); },
                 .container_missing = [this](const std::string& id) { container_destroyed(id); },
                 .doubtful = [this] { discover(); }}),
      messages_(roster_, channels_,
                {.changed = callbacks_.changed,
                 .unneeded = [this](const std::string& id) { containers_.remove(id); },
                 .warm = [this] { pool_.on_started(); },
                 .adopted = callbacks_.discovered}),
      containers_(loop, host_, roster_,
                  {.started = [this](const std::string& id) { container_started(id); },
                   .removed =
                       [this](const std::string& id) {
                         drop(id);
                         pool_.refill_after_loss();
                       },
                   .removal_failed =
                       [this](const std::string& id) {
                         if (roster_.find(id)->faults.any()) notify_units(id);
                       },
                   .start_again = [this](const std::string& id) { notify_units(id); }}),
      supervision_(loop, host_, roster_,
                   {.changed = [this](const std::string& id) { notify_units(id); },
                    .replace = [this](const std::string& id) { replace(id); },
                    .stopped = [this](const std::string& id) { container_died(id); },
                    .missing = [this](const std::string& id) { container_destroyed(id); },
                    .reachable = [this](const std::string& id) { channels_.open(id); },
                    .reconnect = [this](const std::string& id) { channels_.reopen(id); },
                    .doubtful = [this] { discover(); }}),
      placement_(roster_, options.services_per_proxy,
                 [this](const std::string& id) { return channels_.is_open(id); }),
      pool_(loop, host_, roster_, {options.warm_proxies, options.refill_delay},
            {.created =
                 [this](HostedProxy proxy) {
                   channels_.open(roster_.add(std::move(proxy)).container.id);
                 },
             .unneeded = [this](const std::string& id) { containers_.remove(id); }}),
      discovery_(loop, host_, roster_,
                 {.gone = [this](const std::string& id) { container_destroyed(id); },
                  .found = [this](HostedProxy found) { adopt(std::move(found)); },
                  .finished =
                      [this] {
                        pool_.allow();
                        callbacks_.discovered();
                        pool_.refill_soon();
                        channels_.open_next_adopted();
                      }}) {}

// ---- what is known -----------------------------------------------------------------------------

core::ProxyView Fleet::view(const std::string& unit) const {
  auto out = roster_.view(unit);
  out.coming = out.coming || placement_.is_waiting(unit);
  return out;
}

std::vector<Fleet::HeldUnit> Fleet::held_units() const {
  std::vector<HeldUnit> out;
  for (const auto& [id, proxy] : roster_.proxies()) {
    if (proxy.removing) continue;
    for (const auto& [name, unit] : proxy.units)
      if (!unit.releasing()) out.push_back({name, unit.owner()});
  }
  return out;
}

std::map<core::IpAddress, std::string> Fleet::held_addresses(const std::string& network) const {
  auto out = roster_.addresses_on(network);
  out.merge(discovery_.foreign_addresses(network));
  return out;
}

std::size_t Fleet::warm_count() const {
  const auto& proxies = roster_.proxies();
  return static_cast<std::size_t>(
      std::count_if(proxies.begin(), proxies.end(), [this](const auto& item) {
        const auto& proxy = item.second;
        return proxy.warm() && !proxy.removing && !proxy.faults.any() &&
               channels_.is_open(item.first);
      }));
}

bool Fleet::has_warm() const {
  const auto& proxies = roster_.proxies();
  return pool_.is_creating() || std::any_of(proxies.begin(), proxies.end(),
                                            [](const auto& item) { return item.second.warm(); });
}

// ---- what plans ask for ------------------------------------------------------------------------

void Fleet::prepare(const ProxyRequest& request, const std::vector<core::Cidr>& addresses) {
  if (roster_.holder_of(request.unit) != nullptr || placement_.is_waiting(request.unit)) return;
  const auto chosen = placement_.choose(request, loop_.now());
  if (!chosen || roster_.find(*chosen) == nullptr) return;
  if (!placement_.reserve(*chosen, request, loop_.now())) return;
  channels_.send(*chosen, request.unit, protocol::Prepare{channels_.next_request_id(), addresses});
}

void Fleet::claim(const ProxyRequest& request) {
  if (roster_.holder_of(request.unit) != nullptr || placement_.is_waiting(request.unit)) return;
  const auto chosen = placement_.choose(request, loop_.now());
  if (!chosen) {
    const auto done = [this, pending = placement_.begin(request)](auto result) {
      created(pending, std::move(result));
    };
    return host_.create(request.network, done);
  }
  if (placement_.join(*chosen, request)) return;
  const bool was_warm = roster_.find(*chosen)->warm();
  assign(*chosen, request);
  if (was_warm) pool_.refill_after_claim();
  callbacks_.changed(request.unit);
}

/// The name tells people what the container serves. It is written after the claim and may fail or
/// come late: ownership is what the agent holds, not the name. A container that a crashed kindlb
/// left with a stale name is renamed by its next claim.
void Fleet::assign(const std::string& id, const ProxyRequest& request) {
  const auto& proxy = *roster_.find(id);
  const bool first = proxy.warm();
  roster_.assign(id, request);
  placement_.cancel_reservation(id, request.unit);
  if (!first) return;
  if (const auto number = placement_.next_number(proxy.cluster)) roster_.set_number(id, number);
  const auto renamed = [owner = request.owner](const core::Result<void>& result) {
    if (!result.ok()) log::debug("{}: cannot rename its proxy: {}", owner, result.error().text());
  };
  if (proxy.number == 0) return host_.rename(id, request.owner, request.unit, renamed);
  host_.rename_shared(id, proxy.cluster, proxy.number, renamed);
}

void Fleet::created(const std::string& pending, core::Result<HostedProxy> result) {
  const auto waiting = placement_.finish(pending);
  if (!result.ok()) {
    for (const auto& [unit, request] : waiting.requests)
      callbacks_.claim_failed(unit, result.error());
    return;
  }
  const auto& proxy = roster_.add(std::move(result).value());
  const auto& id = proxy.container.id;
  for (const auto& [unit, request] : waiting.requests)
    if (roster_.holder_of(unit) == nullptr) assign(id, request);
  // All requests were withdrawn, or their units were meanwhile adopted from other proxies.
  if (waiting.unwanted || proxy.warm()) return containers_.remove(id);
  channels_.open(id);
  notify_units(id);
}

void Fleet::apply(const std::string& name, const core::ProxyConfig& config,
                  const core::Revision& revision, const std::vector<core::Probe>& probes) {
  auto* unit = roster_.unit(name);
  if (unit == nullptr || unit->releasing()) return;
  const auto& proxy = *roster_.holder_of(name);
  if (proxy.removing) return;
  // A Service that grows beyond its proxy leaves it; once the release is confirmed, its next plan
  // claims another proxy, and the address moves along.
  unit->set_watches(core::watches_of(config));
  if (placement_.outgrows(proxy, name, loop_.now())) {
    log::info("{}: needs more file watches than its proxy has left; moving it to another proxy",
              unit->owner());
    return messages_.release(name);
  }
  messages_.apply(config, revision, probes);
}

void Fleet::remove(const std::string& unit) {
  switch (placement_.withdraw(unit)) {
    case Placement::Withdrawal::Last:
      return;
    case Placement::Withdrawal::Withdrawn:
      return callbacks_.changed(unit);
    case Placement::Withdrawal::NotWaiting:
      if (roster_.unit(unit) != nullptr) messages_.release(unit);
  }
}

void Fleet::forget_failure(const std::string& name) {
  auto* unit = roster_.unit(name);
  if (unit == nullptr) return;
  unit->forget_failure();
  callbacks_.changed(name);
}

void Fleet::start(const std::string& unit) {
  if (const auto* proxy = roster_.holder_of(unit)) containers_.start(proxy->container.id);
}

}  // namespace kindlb::controller
