#pragma once
// The docker networks that Services get their addresses from: subnets, and the addresses that the
// engine has given to containers. A cache, refreshed when the engine reports a change.
//
// Lives on the loop's thread; look-ups run on the executor. Per network one look-up is under way at
// a time, and requests meanwhile lead to one more, so that the last change is always seen.

#include "kindlb/base/thread_pool.hpp"
#include "kindlb/core/ip.hpp"
#include "kindlb/core/result.hpp"
#include "kindlb/docker/networks.hpp"
#include "loop.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>

namespace kindlb::controller {

/// What address allocation needs to know about a network.
struct NetworkFacts {
  std::map<core::IpFamily, core::Cidr> subnets;
  std::set<core::IpAddress> in_use;  ///< gateways and the engine's own addresses of containers

  bool operator==(const NetworkFacts&) const = default;
};

NetworkFacts facts_of(const docker::Network& network);

class Networks {
 public:
  Networks(Loop& loop, base::ThreadPool& executor, docker::Networks& engine_networks,
           std::function<void(const std::string& network)> changed)
      : loop_(loop),
        executor_(executor),
        engine_networks_(engine_networks),
        changed_(std::move(changed)) {}

  /// Look the network up, for the first time or again. Failures are retried.
  void refresh(const std::string& name);
  void refresh_all();
  /// The same shortly: one look after many containers have come or gone.
  void refresh_all_soon();
  /// Forget all other networks.
  void retain(const std::set<std::string>& names);
  /// Return the facts; null until looked up, or if the network does not exist; then error() may say
  /// why. While the engine does not answer, its former answer stays valid.
  const NetworkFacts* find(const std::string& name) const;
  std::string error(const std::string& name) const;

 private:
  struct Entry {
    bool known = false;
    bool looking_up = false;
    bool again = false;
    bool retry_scheduled = false;
    NetworkFacts facts;
    std::string error;
  };

  void retry(const std::string& name);
  void looked_up(const std::string& name, const core::Result<docker::Network>& result);

  Loop& loop_;
  base::ThreadPool& executor_;
  docker::Networks& engine_networks_;
  std::function<void(const std::string& network)> changed_;
  std::map<std::string, Entry> entries_;
  bool refresh_scheduled_ = false;
};

}  // namespace kindlb::controller
