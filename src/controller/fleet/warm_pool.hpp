#pragma once
// The warm pool: proxies started ahead of time, so that a claim costs a message instead of a
// container start. A proxy is warm while it holds no unit; claiming one is therefore nothing but
// assigning a unit to it, on the loop's thread, and cannot race. Here is decided when and where one
// is created or removed, not which one a Service gets. Lives on the loop's thread.
//
// Invariants:
//  - Per network in use, warm proxies that exist or are being created add up to `size` after a
//    refill.
//  - At most one refill is scheduled at a time, the earliest one asked for.
//  - Nothing is created or removed before allow(): warm proxies of an earlier run may exist.

#include "fleet/async_host.hpp"
#include "fleet/roster.hpp"
#include "loop.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace kindlb::controller {

class WarmPool {
 public:
  struct Options {
    std::size_t size = 0;  ///< per network
    std::chrono::milliseconds refill_delay{0};
  };
  struct Callbacks {
    std::function<void(HostedProxy proxy)> created;
    std::function<void(const std::string& id)> unneeded;  ///< remove the proxy
  };

  /// All references must outlive this.
  WarmPool(Loop& loop, AsyncHost& host, const ProxyRoster& roster, Options options,
           Callbacks callbacks);

  /// Keep warm proxies on these networks, and remove those on all others.
  void keep_on(std::set<std::string> networks);
  /// All existing proxies are known: refills may begin.
  void allow() { allowed_ = true; }
  void refill_soon(std::chrono::milliseconds delay = std::chrono::milliseconds(0));
  /// A warm proxy was claimed. Starting the next container at once would compete with serving.
  void refill_after_claim() { refill_soon(options_.refill_delay); }
  void refill_after_loss();

  void on_started() { failures_ = 0; }
  void on_died() { ++failures_; }  ///< back off: the next one may die the same way
  bool is_creating() const { return !creating_.empty(); }

 private:
  void refill();
  void remove_unneeded();
  void create(const std::string& network);
  void created(const std::string& network, core::Result<HostedProxy> result);

  Loop& loop_;
  AsyncHost& host_;
  const ProxyRoster& roster_;
  const Options options_;
  const Callbacks callbacks_;
  std::set<std::string> networks_;
  std::map<std::string, std::size_t> creating_;  ///< how many, by network
  std::optional<Loop::TimePoint> refill_at_;
  unsigned failures_ = 0;  ///< warm proxies in a row that did not start or died
  bool allowed_ = false;
};

}  // namespace kindlb::controller
