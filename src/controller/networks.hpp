#pragma once
// The docker networks Services get their addresses from: subnets, and who is on them. Looked up on
// the executor, kept on the loop's thread, refreshed when the engine tells of a change.

#include "kindlb/base/thread_pool.hpp"
#include "kindlb/core/ip.hpp"
#include "kindlb/core/result.hpp"
#include "kindlb/docker/engine.hpp"
#include "loop.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>

namespace kindlb::controller {

struct NetworkFacts {
  std::map<core::IpFamily, core::Cidr> subnets;
  std::set<core::IpAddress> in_use;  ///< gateways and the engine's own addresses of containers

  bool operator==(const NetworkFacts&) const = default;
};

NetworkFacts facts_of(const docker::Network& network);

class Networks {
 public:
  Networks(Loop& loop, base::ThreadPool& executor, docker::Engine& engine,
           std::function<void(const std::string& network)> changed)
      : loop_(loop), executor_(executor), engine_(engine), changed_(std::move(changed)) {}

  /// Looks the network up, now or again. Many calls in a row make one look-up.
  void refresh(const std::string& name);
  void refresh_all();
  /// Forgets all others.
  void retain(const std::set<std::string>& names);
  /// Null until looked up, or when it does not exist; then error() may say why. While the engine
  /// does not answer, what it said before holds.
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
  docker::Engine& engine_;
  std::function<void(const std::string& network)> changed_;
  std::map<std::string, Entry> entries_;
};

}  // namespace kindlb::controller
