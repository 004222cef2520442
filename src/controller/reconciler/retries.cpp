#include "reconciler/retries.hpp"

#include "jitter.hpp"
#include "kindlb/core/backoff.hpp"

#include <utility>

namespace kindlb::controller {

std::chrono::milliseconds Retries::next_delay(const std::string& uid) {
  return core::delay_before(entries_[uid].failures++, core::Backoff{}, jitter());
}

void Retries::schedule(const core::ServiceKey& key, const std::string& uid) {
  if (std::exchange(entries_[uid].scheduled, true)) return;
  loop_.after(next_delay(uid), [this, key, uid] {
    const auto found = entries_.find(uid);
    if (found == entries_.end()) return;
    found->second.scheduled = false;
    due_(key, uid);
  });
}

bool Retries::scheduled(const std::string& uid) const {
  const auto found = entries_.find(uid);
  return found != entries_.end() && found->second.scheduled;
}

void Retries::reset(const std::string& uid) {
  if (const auto found = entries_.find(uid); found != entries_.end()) found->second.failures = 0;
}

}  // namespace kindlb::controller
