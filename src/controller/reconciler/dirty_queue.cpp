#include "reconciler/dirty_queue.hpp"

#include <utility>

namespace kindlb::controller {

void DirtyQueue::mark(const core::ServiceKey& key) {
  marked_.insert(key);
  if (std::exchange(run_posted_, true)) return;
  loop_.post([this] { run(); });
}

void DirtyQueue::mark(const Keys& keys) {
  for (const auto& key : keys) mark(key);
}

void DirtyQueue::run() {
  run_posted_ = false;
  run_(std::exchange(marked_, {}));
}

/// A timer that was replaced or cancelled finds another time, or none, and does nothing.
void DirtyQueue::mark_after(const core::ServiceKey& key, std::chrono::milliseconds delay) {
  const auto when = loop_.now() + delay;
  const auto [known, added] = timers_.try_emplace(key, when);
  if (!added && known->second <= when) return;
  known->second = when;
  loop_.after(delay, [this, key, when] {
    const auto found = timers_.find(key);
    if (found == timers_.end() || found->second != when) return;
    timers_.erase(found);
    mark(key);
  });
}

}  // namespace kindlb::controller
