#pragma once
// Choose the proxy for a Service: one that already serves its cluster and has room, else an idle
// one of the warm pool, else a new one. Pure, and independent of the order of the proxies.
//
// Called only for a Service without a healthy proxy. A Service never moves between healthy proxies:
// its address would have to move too, and connections would break.

#include "kindlb/core/proxy_config.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::core {

/// The load and capacity of one proxy.
struct ProxyLoad {
  std::string id;
  std::string cluster;  ///< the one it serves; empty: idle. A proxy never serves two, because all
                        ///< kind clusters use the same pod address ranges
  std::string network;
  std::size_t services = 0;
  std::size_t watches = 0;   ///< endpoint files its Envoy watches for them
  std::size_t largest = 0;   ///< of these, those of the largest Service
  std::size_t capacity = 0;  ///< how many its Envoy can watch (inotify instances)
  bool healthy = true;
};

struct PlacementRequest {
  std::string cluster;
  std::string network;
  std::size_t watches = 1;
};

/// Return the id of the best proxy, or nothing when a new one is needed. `services_per_proxy`: 0
/// for no limit.
std::optional<std::string> place(const std::vector<ProxyLoad>& proxies,
                                 const PlacementRequest& need, std::size_t services_per_proxy);

/// Return whether a proxy that serves other Services can take one more with `watches` files. While
/// a Service's clusters are replaced Envoy watches the files of the old and the new ones, so there
/// must be room for the largest Service twice, plus a reserve for several updates at once.
bool has_room(const ProxyLoad& proxy, std::size_t watches);

/// Return how many endpoint files a Service makes Envoy watch, at most: one per port and family,
/// and another for UDP with session affinity (see envoy/render).
std::size_t watches_of(const Service& service);
std::size_t watches_of(const ProxyConfig& config);

}  // namespace kindlb::core
