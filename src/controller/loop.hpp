#pragma once
// The task queue of the one thread that decides. Watches, the engine's events, the agents' messages
// and finished background work are all posted to it. Tasks may touch the controller's state without
// a lock, and must never wait.
//
// post() and after() may be called from any thread, also by tasks. Tasks run one at a time, in the
// order in which they were posted; timers run when they are due, between them. What tasks refer to
// must outlive the loop's last run().

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <vector>

namespace kindlb::controller {

class Loop {
 public:
  using Task = std::function<void()>;
  using Clock = std::chrono::steady_clock;

  /// `hurry` divides every delay, for tests.
  explicit Loop(unsigned hurry = 1) : hurry_(hurry) {}

  void post(Task task);
  void after(std::chrono::milliseconds delay, Task task);

  /// Run tasks until `stop`. Those not started by then stay queued for the next call of run().
  void run(std::stop_token stop);

 private:
  /// Wait for tasks and return all that are due; empty once `stop` is requested.
  std::vector<Task> take_due(std::unique_lock<std::mutex>& lock, const std::stop_token& stop);

  const unsigned hurry_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<Task> ready_;
  std::multimap<Clock::time_point, Task> timers_;
};

}  // namespace kindlb::controller
