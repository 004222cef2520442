#pragma once
// Which proxy a Service goes to: one that already serves its cluster and has room, else one that
// waits for a cluster, else a new one. Pure; the order of the proxies does not matter. Only asked
// when a Service has no proxy: one that has a healthy one stays there.

#include "kindlb/core/proxy_config.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::core {

/// A proxy as placement sees it.
struct ProxyLoad {
  std::string id;
  std::string cluster;  ///< the one it serves; all kind clusters use the same pod addresses, so a
                        ///< proxy never serves two. Empty: nobody's yet
  std::string network;
  std::size_t services = 0;
  std::size_t watches = 0;   ///< files its Envoy watches for them
  std::size_t largest = 0;   ///< of these, for the Service with most
  std::size_t capacity = 0;  ///< files its Envoy can watch
  bool healthy = true;
};

struct PlacementRequest {
  std::string cluster;
  std::string network;
  std::size_t watches = 1;
};

/// `services_per_proxy`: 0 for no limit. Nothing: a new one is needed.
std::optional<std::string> place(const std::vector<ProxyLoad>& proxies,
                                 const PlacementRequest& need, std::size_t services_per_proxy);

/// Whether a proxy that serves others can take this in. While a Service's clusters are exchanged,
/// Envoy watches the old ones' files and the new ones', so there must be room for the largest of
/// them once more; and some for several at once.
bool has_room(const ProxyLoad& proxy, std::size_t watches);

/// How many endpoint files a Service makes Envoy watch, at most: one per port and family,
/// and another for UDP with affinity.
std::size_t watches_of(const Service& service);
std::size_t watches_of(const ProxyConfig& config);

}  // namespace kindlb::core
