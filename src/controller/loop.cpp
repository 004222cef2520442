#include "loop.hpp"

#include <iterator>
#include <utility>

namespace kindlb::controller {

void Loop::post(Task task) {
  {
    const std::lock_guard lock(mutex_);
    ready_.push_back(std::move(task));
  }
  wake_.notify_one();
}

void Loop::after(std::chrono::milliseconds delay, Task task) {
  {
    const std::lock_guard lock(mutex_);
    timers_.emplace(Clock::now() + Clock::duration(delay) / hurry_, std::move(task));
  }
  wake_.notify_one();
}

std::vector<Loop::Task> Loop::take_due(std::unique_lock<std::mutex>& lock,
                                       const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto now = Clock::now();
    const auto due = timers_.upper_bound(now);
    for (auto it = timers_.begin(); it != due; ++it) ready_.push_back(std::move(it->second));
    timers_.erase(timers_.begin(), due);
    if (!ready_.empty()) return std::exchange(ready_, {});
    const auto something = [this] { return !ready_.empty(); };
    if (timers_.empty())
      // A timer added meanwhile notifies as well, and the predicate must accept it.
      wake_.wait(lock, stop, [&] { return something() || !timers_.empty(); });
    else
      wake_.wait_until(lock, stop, timers_.begin()->first, [&, first = timers_.begin()->first] {
        return something() || timers_.begin()->first < first;
      });
  }
  return {};
}

void Loop::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    std::unique_lock lock(mutex_);
    auto tasks = take_due(lock, stop);
    lock.unlock();
    for (auto next = tasks.begin(); next != tasks.end(); ++next) {
      if (stop.stop_requested()) {
        lock.lock();
        ready_.insert(ready_.begin(), std::move_iterator(next), std::move_iterator(tasks.end()));
        return;
      }
      (*next)();
      *next = nullptr;  // destroys its captures before the next task runs
    }
  }
}

}  // namespace kindlb::controller
