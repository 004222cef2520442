#pragma once
// Finds the proxies that exist on the engine: at the start, and whenever events may have been
// missed. What becomes of them is the fleet's business, except for proxies of other kindlbs on this
// engine: those are never touched, and only their addresses are kept, which are not free. Has what
// a killed kindlb left half made removed after each listing. Lives on the loop's thread.
//
// Invariants:
//  - At most one listing is under way. Calls meanwhile are merged into one more, because the one
//    under way may be too old.
//  - A proxy counts as gone only if it was known before the listing began and is not in it: one
//    that was created meanwhile may be missing from the answer.

#include "fleet/async_host.hpp"
#include "fleet/roster.hpp"
#include "kindlb/core/ip.hpp"
#include "loop.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace kindlb::controller {

class Discovery {
 public:
  struct Callbacks {
    // For every listing, in this order: what is missing goes first, so that its units are free for
    // a proxy in the list that reports them.
    std::function<void(const std::string& id)> gone;
    std::function<void(HostedProxy proxy)> found;
    std::function<void()> finished;
  };

  /// All references must outlive this.
  Discovery(Loop& loop, AsyncHost& host, const ProxyRoster& roster, Callbacks callbacks);

  void run();
  bool done() const { return done_; }  ///< a listing has succeeded
  /// Forget a container of another kindlb, if it is one.
  void forget(const std::string& id) { foreign_proxies_.erase(id); }
  /// Return the addresses of other kindlbs' proxies on that network, with the unit that has each.
  std::map<core::IpAddress, std::string> foreign_addresses(const std::string& network) const;

 private:
  struct ForeignProxy {
    std::string network;
    std::map<core::IpAddress, std::string> addresses;  ///< with the unit that has it
  };

  void on_listed(std::set<std::string> before, core::Result<std::vector<HostedProxy>> result);
  void note_foreign(const HostedProxy& found);

  Loop& loop_;
  AsyncHost& host_;
  const ProxyRoster& roster_;
  const Callbacks callbacks_;
  std::map<std::string, ForeignProxy> foreign_proxies_;  ///< by container id
  bool done_ = false;
  bool running_ = false;
  bool run_again_ = false;
};

}  // namespace kindlb::controller
