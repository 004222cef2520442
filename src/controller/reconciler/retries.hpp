#pragma once
// When to try again what failed for a Service: the back-off, and at most one timer for each. Knows
// nothing of what failed.
//
// Lives on the loop's thread, and must outlive the loop's last run. Services are known by uid, so
// that one created again under the same name begins anew.

#include "kindlb/core/service.hpp"
#include "loop.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <string>

namespace kindlb::controller {

class Retries {
 public:
  using Due = std::function<void(const core::ServiceKey& key, const std::string& uid)>;

  Retries(Loop& loop, Due due) : loop_(loop), due_(std::move(due)) {}

  /// Return the delay before the next attempt, and count one more failure.
  std::chrono::milliseconds next_delay(const std::string& uid);
  /// Call `due` after the next delay. Does nothing while such a call is scheduled.
  void schedule(const core::ServiceKey& key, const std::string& uid);
  bool scheduled(const std::string& uid) const;
  /// The Service is served, or it was changed: the next failure is the first. A call that is
  /// scheduled stays so.
  void reset(const std::string& uid);
  /// The Service is gone, and so is its call.
  void forget(const std::string& uid) { entries_.erase(uid); }

 private:
  struct Entry {
    unsigned failures = 0;  ///< in a row
    bool scheduled = false;
  };

  Loop& loop_;
  const Due due_;
  std::map<std::string, Entry> entries_;  ///< by uid
};

}  // namespace kindlb::controller
