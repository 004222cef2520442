#pragma once
// The one thread that decides. Everybody else posts to it: watchers, the engine's events, the
// agents' answers, finished work. What runs here may touch the controller's state without a lock,
// and must never wait. post() and after() may be called from any thread.

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

  /// `hurry` divides every delay: for those who have no time to wait.
  explicit Loop(unsigned hurry = 1) : hurry_(hurry) {}

  void post(Task task);
  void after(std::chrono::milliseconds delay, Task task);

  /// Runs tasks until `stop`. Those not begun by then stay queued and run when it is called again.
  void run(std::stop_token stop);

 private:
  std::vector<Task> take_due(std::unique_lock<std::mutex>& lock, const std::stop_token& stop);

  const unsigned hurry_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<Task> ready_;
  std::multimap<Clock::time_point, Task> timers_;
};

}  // namespace kindlb::controller
