#include "kindlb/core/placement.hpp"

#include <algorithm>
#include <tuple>

namespace kindlb::core {

namespace {

/// An eighth of what Envoy can watch is left for changes of several Services at once.
constexpr std::size_t kReserveDivisor = 8;

/// Return whether a proxy in use can take the Service: same cluster, below --services-per-proxy,
/// room.
bool serves(const ProxyLoad& proxy, const PlacementRequest& need, std::size_t services_per_proxy) {
  const bool below_limit = services_per_proxy == 0 || proxy.services < services_per_proxy;
  return proxy.cluster == need.cluster && below_limit && has_room(proxy, need.watches);
}

/// Prefer the fullest proxy, so that gaps close and proxies stay few; then the smallest id, so that
/// the choice does not depend on the order of the input.
bool is_better(const ProxyLoad& a, const ProxyLoad& b) {
  return std::tie(b.watches, b.services, a.id) < std::tie(a.watches, a.services, b.id);
}

}  // namespace

bool has_room(const ProxyLoad& proxy, std::size_t watches) {
  const auto once_more = std::max({proxy.largest, watches, proxy.capacity / kReserveDivisor});
  return proxy.watches + watches + once_more <= proxy.capacity;
}

std::optional<std::string> place(const std::vector<ProxyLoad>& proxies,
                                 const PlacementRequest& need, std::size_t services_per_proxy) {
  const ProxyLoad* shared = nullptr;
  const ProxyLoad* blank = nullptr;
  for (const auto& proxy : proxies) {
    if (!proxy.healthy || proxy.network != need.network) continue;
    // An idle proxy is taken whatever the Service needs: a new one would not be larger.
    const bool is_blank = proxy.cluster.empty();
    if (!is_blank && !serves(proxy, need, services_per_proxy)) continue;
    const auto*& best = is_blank ? blank : shared;
    if (best == nullptr || is_better(proxy, *best)) best = &proxy;
  }
  const auto* chosen = shared != nullptr ? shared : blank;
  return chosen == nullptr ? std::nullopt : std::optional(chosen->id);
}

namespace {
/// UDP with session affinity is rendered as two clusters (envoy/render).
std::size_t watches_of(Protocol protocol, Affinity affinity) {
  return protocol == Protocol::Udp && affinity == Affinity::ClientIp ? 2 : 1;
}
}  // namespace

std::size_t watches_of(const Service& service) {
  const auto families = std::max<std::size_t>(1, service.spec.ip_families.size());
  std::size_t of_family = 0;
  for (const auto& port : service.spec.ports)
    of_family += watches_of(port.protocol, service.spec.affinity);
  return std::max<std::size_t>(1, of_family) * families;
}

std::size_t watches_of(const ProxyConfig& config) {
  std::size_t out = 0;
  for (const auto& backend : config.backends) out += watches_of(backend.protocol, backend.affinity);
  return out;
}

}  // namespace kindlb::core
