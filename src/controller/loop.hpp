#pragma once
// The task queue of the one thread that decides. Watches, the engine's events, the agents' messages
// and finished background work are all posted to it. Tasks may touch the controller's state without
// a lock, and must never wait.
//
// post(), after(), now() and next_due() may be called from any thread, also by tasks. Tasks run one
// at a time, in the order in which they were posted; timers run when they are due, between them.
// What tasks refer to, and the clock, must outlive the loop's last run().
//
// All delays are measured by the clock given. A clock that a test advances must be advanced by a
// task, or be followed by a post(): the loop does not notice otherwise.

#include "kindlb/base/clock.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>

namespace kindlb::controller {

class Loop {
 public:
  using Task = std::function<void()>;
  using TimePoint = base::Clock::TimePoint;

  explicit Loop(const base::Clock& clock = base::machine_clock()) : clock_(clock) {}

  void post(Task task);
  void after(std::chrono::milliseconds delay, Task task);

  TimePoint now() const { return clock_.now(); }
  /// Return when the loop has something to do: now if a task is queued, else when the first timer
  /// is due; absent if only a post would make it run. A task that asks does not count itself.
  std::optional<TimePoint> next_due() const;

  /// Run tasks until `stop`. Those not started by then stay queued for the next call of run().
  void run(const std::stop_token& stop);

 private:
  /// Wait for a task and return it; null once `stop` is requested.
  Task take_next(const std::stop_token& stop);
  void queue_due_timers();

  const base::Clock& clock_;
  mutable std::mutex mutex_;  ///< guards everything below
  std::condition_variable_any wake_;
  std::deque<Task> ready_;
  std::multimap<TimePoint, Task> timers_;
};

}  // namespace kindlb::controller
