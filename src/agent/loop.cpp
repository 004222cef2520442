#include "loop.hpp"

#include <poll.h>

#include <algorithm>
#include <utility>

namespace kindlb::agent {

void Loop::watch(int fd, short events, Ready ready) {
  watches_[fd] = {events, ++serial_, std::move(ready)};
}

void Loop::unwatch(int fd) {
  watches_.erase(fd);
}

Loop::TimerId Loop::after(Duration delay, Action action) {
  const auto due = now() + delay;
  const auto id = ++last_timer_;
  timers_.emplace(std::pair{due, id}, std::move(action));
  due_.emplace(id, due);
  return id;
}

void Loop::cancel(TimerId timer) {
  const auto found = due_.find(timer);
  if (found == due_.end()) return;
  timers_.erase({found->second, timer});
  due_.erase(found);
}

void Loop::run() {
  stopped_ = false;
  while (!stopped_) run_round(wait_milliseconds());
}

bool Loop::run_due() {
  stopped_ = false;
  return run_round(0);
}

/// Wait for descriptors, but not longer than `wait` milliseconds (-1: without limit), and call what
/// is ready, then the timers that are due.
bool Loop::run_round(int wait) {
  std::vector<pollfd> polled;
  polled.reserve(watches_.size());
  for (const auto& [fd, watch] : watches_) polled.push_back({fd, watch.events, 0});
  const auto newest = serial_;
  const int ready = ::poll(polled.data(), polled.size(), wait);
  if (ready > 0) dispatch(polled, newest);
  return run_due_timers() || ready > 0;
}

/// Return how long poll() may wait. Rounded up: waking a fraction of a millisecond early would
/// spin.
int Loop::wait_milliseconds() const {
  if (stopped_) return 0;
  if (timers_.empty()) return -1;
  const auto left = timers_.begin()->first.first - now();
  if (left <= Duration::zero()) return 0;
  const auto rounded = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::min<std::int64_t>(rounded, 60'000));
}

void Loop::dispatch(const std::vector<pollfd>& polled, std::uint64_t newest) {
  for (const auto& entry : polled) {
    if (entry.revents == 0 || stopped_) continue;
    const auto found = watches_.find(entry.fd);
    // Removed by a callback of this round, or removed and registered again: then `revents` is not
    // about the descriptor that has this number now.
    if (found == watches_.end() || found->second.serial > newest) continue;
    const Ready ready = found->second.ready;  // a copy: the callback may remove its own watch
    ready(entry.revents);
  }
}

/// Only timers from before this round: one that sets itself again without delay runs in the next
/// round, after descriptors have had their turn, even if the clock stands still. A timer is taken
/// out before it runs, so it may set or cancel any.
bool Loop::run_due_timers() {
  const auto now = this->now();
  const auto newest = last_timer_;
  bool any = false;
  while (!stopped_ && !timers_.empty() && timers_.begin()->first <= std::pair{now, newest}) {
    auto node = timers_.extract(timers_.begin());
    due_.erase(node.key().second);
    node.mapped()();
    any = true;
  }
  return any;
}

}  // namespace kindlb::agent
