#pragma once
// Starts stopped proxy containers and removes those of no use, each until the engine has confirmed
// it. Creating them is not its business, nor is what becomes of their Services. Lives on the loop's
// thread.
//
// Invariants:
//  - A removal that has begun is retried until the engine confirms it: until then the proxy may
//    still answer for its addresses, and its Services must not be finished (docs/contract.md §1).
//  - At most one start of a container is under way.

#include "fleet/async_host.hpp"
#include "fleet/roster.hpp"
#include "kindlb/core/result.hpp"
#include "loop.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>

namespace kindlb::controller {

class ContainerLifecycle {
 public:
  struct Callbacks {
    std::function<void(const std::string& id)> started;
    std::function<void(const std::string& id)> removed;
    /// A removal has failed and will be tried again; the proxy's trouble says why.
    std::function<void(const std::string& id)> removal_failed;
    /// A start has failed for a reason that may pass: its Services may ask for it again.
    std::function<void(const std::string& id)> start_again;
  };

  /// All references must outlive this.
  ContainerLifecycle(Loop& loop, AsyncHost& host, ProxyRoster& roster, Callbacks callbacks);

  // The proxy is in the roster, except where noted.
  void start(const std::string& id);
  void remove(const std::string& id);
  /// Remove what is left of a container that another program removed, such as its volume. The proxy
  /// need not be in the roster.
  void remove_rest(const std::string& id);
  /// Forget a proxy that no longer exists.
  void forget(const std::string& id);

 private:
  void start_now(const std::string& id);
  void on_start_failed(const std::string& id, const core::Error& why);
  void request_removal(const std::string& id);
  void on_removed(const std::string& id, const core::Result<void>& result);

  Loop& loop_;
  AsyncHost& host_;
  ProxyRoster& roster_;
  const Callbacks callbacks_;
  std::set<std::string> starting_;                    ///< by container id
  std::map<std::string, unsigned> removal_failures_;  ///< in a row, by container id
};

}  // namespace kindlb::controller
