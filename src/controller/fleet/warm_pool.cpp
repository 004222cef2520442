#include "fleet/warm_pool.hpp"

#include "kindlb/core/backoff.hpp"
#include "kindlb/log/log.hpp"

#include <utility>
#include <vector>

namespace kindlb::controller {

namespace {

constexpr core::Backoff kRefillBackoff{std::chrono::milliseconds(1'000),
                                       std::chrono::milliseconds(30'000)};

}  // namespace

WarmPool::WarmPool(Loop& loop, AsyncHost& host, const ProxyRoster& roster, Options options,
                   Callbacks callbacks)
    : loop_(loop),
      host_(host),
      roster_(roster),
      options_(options),
      callbacks_(std::move(callbacks)) {}

void WarmPool::keep_on(std::set<std::string> networks) {
  if (networks_ == networks) return;
  networks_ = std::move(networks);
  if (allowed_) refill_soon();
}

void WarmPool::refill_soon(std::chrono::milliseconds delay) {
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
void WarmPool::refill_after_loss() {
  refill_soon(failures_ == 0 ? options_.refill_delay
                             : core::delay_before(failures_ - 1, kRefillBackoff, 0.5));
}

void WarmPool::refill() {
  if (!allowed_) return;
  remove_unneeded();
  for (const auto& network : networks_) {
    std::size_t have = creating_.contains(network) ? creating_.at(network) : 0;
    for (const auto& [id, proxy] : roster_.proxies())
      if (proxy.warm() && !proxy.removing && proxy.container.network == network) ++have;
    for (; have < options_.size; ++have) create(network);
  }
}

/// Remove warm proxies on networks that no cluster uses any more, so that the network can be
/// removed.
void WarmPool::remove_unneeded() {
  std::vector<std::string> unneeded;
  for (const auto& [id, proxy] : roster_.proxies())
    if (proxy.warm() && !proxy.removing && !networks_.contains(proxy.container.network))
      unneeded.push_back(id);
  for (const auto& id : unneeded) callbacks_.unneeded(id);
}

void WarmPool::create(const std::string& network) {
  ++creating_[network];
  host_.create(network, [this, network](core::Result<HostedProxy> result) {
    created(network, std::move(result));
  });
}

void WarmPool::created(const std::string& network, core::Result<HostedProxy> result) {
  if (--creating_[network] == 0) creating_.erase(network);
  if (!result.ok()) {
    log::warn("network {}: cannot start a warm proxy: {}", network, result.error().text());
    refill_soon(core::delay_before(failures_++, kRefillBackoff, 0.5));
    return;
  }
  callbacks_.created(std::move(result).value());
  remove_unneeded();  // its network may be out of use by now
}

}  // namespace kindlb::controller
