#pragma once
// The Services to be planned next: an event only marks one, and however often that happens before
// the next run, it is planned once. Knows nothing of why, and plans nothing itself.
//
// Lives on the loop's thread, and must outlive the loop's last run.
//
// Invariants:
//  - At most one run is posted at a time. What is marked during a run belongs to the next one.
//  - Per Service one timer counts, the earliest: the pass that it triggers asks again for what is
//    still to come.

#include "kindlb/core/service.hpp"
#include "loop.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <set>

namespace kindlb::controller {

class DirtyQueue {
 public:
  using Keys = std::set<core::ServiceKey>;

  /// `run` gets the Services that were marked since the last run.
  DirtyQueue(Loop& loop, std::function<void(const Keys&)> run)
      : loop_(loop), run_(std::move(run)) {}

  void mark(const core::ServiceKey& key);
  void mark(const Keys& keys);
  /// Mark the Service when the delay has passed, unless that happens sooner anyway.
  void mark_after(const core::ServiceKey& key, std::chrono::milliseconds delay);
  /// Cancel the Service's timer. What is marked already stays marked.
  void forget(const core::ServiceKey& key) { timers_.erase(key); }

 private:
  void run();

  Loop& loop_;
  const std::function<void(const Keys&)> run_;
  Keys marked_;
  bool run_posted_ = false;
  std::map<core::ServiceKey, Loop::TimePoint> timers_;
};

}  // namespace kindlb::controller
