// The warm pool: proxies started ahead of time, so that a claim costs a message instead of a
// container start. A proxy is warm while it holds no unit; claiming one is therefore nothing but
// assigning a unit to it, on the loop's thread, and cannot race.
//
// Per network in use, warm proxies that exist or are being created add up to `warm_proxies`. At
// most one refill is scheduled at a time (refill_at_), the earliest one asked for.
#include "background.hpp"
#include "fleet/fleet.hpp"
#include "kindlb/core/backoff.hpp"
#include "kindlb/log/log.hpp"

#include <utility>

namespace kindlb::controller {

namespace {

constexpr core::Backoff kRefillBackoff{std::chrono::milliseconds(1'000),
                                       std::chrono::milliseconds(30'000)};

}  // namespace

void Fleet::keep_warm_on(std::set<std::string> networks) {
  if (networks_ == networks) return;
  networks_ = std::move(networks);
  if (discovered_) refill_soon(std::chrono::milliseconds(0));
}

void Fleet::refill_soon(std::chrono::milliseconds delay) {
  const auto when = loop_.now() + delay;
  if (refill_at_ && *refill_at_ <= when) return;
  refill_at_ = when;
  loop_.after(delay, [this, when] {
    if (refill_at_ != when) return;  // replaced by an earlier one
    refill_at_.reset();
    refill();
  });
}

/// Warm proxies that keep dying (an image that does not start, say) are replaced ever more slowly.
void Fleet::refill_after_loss() {
  refill_soon(refill_failures_ == 0
                  ? options_.refill_delay
                  : core::delay_before(refill_failures_ - 1, kRefillBackoff, 0.5));
}

void Fleet::refill() {
  if (!discovered_) return;
  trim_warm();
  for (const auto& network : networks_) {
    std::size_t have = creating_warm_.contains(network) ? creating_warm_.at(network) : 0;
    for (const auto& [id, proxy] : proxies_)
      if (proxy.warm() && !proxy.removing && proxy.host.network == network) ++have;
    for (; have < options_.warm_proxies; ++have) create_warm(network);
  }
}

/// Remove warm proxies on networks that no cluster uses any more, so that the network can be
/// removed.
void Fleet::trim_warm() {
  std::vector<std::string> surplus;
  for (const auto& [id, proxy] : proxies_)
    if (proxy.warm() && !proxy.removing && !networks_.contains(proxy.host.network))
      surplus.push_back(id);
  for (const auto& id : surplus) remove_proxy(id);
}

void Fleet::create_warm(const std::string& network) {
  ++creating_warm_[network];
  run_then(
      executor_, loop_, [this, network] { return host_.create(network); },
      [this, network](core::Result<HostedProxy> result) {
        warm_created(network, std::move(result));
      });
}

void Fleet::warm_created(const std::string& network, core::Result<HostedProxy> result) {
  if (--creating_warm_[network] == 0) creating_warm_.erase(network);
  if (!result.ok()) {
    log::warn("network {}: cannot start a warm proxy: {}", network, result.error().text());
    refill_soon(core::delay_before(refill_failures_++, kRefillBackoff, 0.5));
    return;
  }
  const auto id = result->id;
  auto& proxy = proxies_[id];
  proxy.host = std::move(result).value();
  open_channel(proxy);
  trim_warm();  // its network may be out of use by now
}

}  // namespace kindlb::controller
