#include "loop.hpp"

#include <algorithm>
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
    timers_.emplace(clock_.now() + delay, std::move(task));
  }
  wake_.notify_one();
}

std::optional<Loop::TimePoint> Loop::next_due() const {
  const std::lock_guard lock(mutex_);
  if (!ready_.empty()) return clock_.now();
  if (timers_.empty()) return std::nullopt;
  return std::max(clock_.now(), timers_.begin()->first);
}

void Loop::queue_due_timers() {
  const auto due = timers_.upper_bound(clock_.now());
  for (auto it = timers_.begin(); it != due; ++it) ready_.push_back(std::move(it->second));
  timers_.erase(timers_.begin(), due);
}

Loop::Task Loop::take_next(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    queue_due_timers();
    if (!ready_.empty()) {
      auto task = std::move(ready_.front());
      ready_.pop_front();
      return task;
    }
    if (timers_.empty())
      // A timer added meanwhile notifies as well, and the predicate must accept it.
      wake_.wait(lock, stop, [this] { return !ready_.empty() || !timers_.empty(); });
    else
      wake_.wait_for(lock, stop, timers_.begin()->first - clock_.now(),
                     [this, first = timers_.begin()->first] {
                       return !ready_.empty() || timers_.begin()->first < first;
                     });
  }
  return nullptr;
}

void Loop::run(const std::stop_token& stop) {
  // The task's captures are destroyed before the next one is taken.
  while (const auto task = take_next(stop)) task();
}

}  // namespace kindlb::controller
