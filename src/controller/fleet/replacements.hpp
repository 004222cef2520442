#pragma once
// When to give up a proxy that runs but cannot serve. Most faults get a moment to pass, such as the
// pause that `docker commit` makes. A Service whose proxies fail again and again waits ever longer
// for the next one. What replacing means is the fleet's business. Lives on the loop's thread.

#include "fleet/roster.hpp"
#include "loop.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <string>

namespace kindlb::controller {

class Replacements {
 public:
  /// Both references must outlive this. `replace` is called for proxies that are in the roster and
  /// have faults.
  Replacements(Loop& loop, const ProxyRoster& roster,
               std::function<void(const std::string& id)> replace);

  /// The proxy, which is in the roster, has other faults than before, perhaps none.
  void on_faults(const std::string& id);
  /// The proxy has stopped or no longer exists.
  void forget(const std::string& id) { due_.erase(id); }

 private:
  using TimePoint = Loop::TimePoint;
  struct History {
    unsigned times = 0;  ///< replaced in a row
    TimePoint last;
  };

  /// When a proxy is given up.
  struct Deadline {
    TimePoint when;
    unsigned times = 0;  ///< its units were replaced before, in a row
  };

  unsigned times_replaced(const Proxy& proxy) const;
  void on_due(const std::string& id, TimePoint when);

  Loop& loop_;
  const ProxyRoster& roster_;
  const std::function<void(const std::string& id)> replace_;
  std::map<std::string, Deadline> due_;       ///< by container id
  std::map<std::string, History> histories_;  ///< by unit
};

}  // namespace kindlb::controller
