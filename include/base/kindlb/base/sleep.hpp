#pragma once
// Sleeping that a stop_token ends early.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace kindlb::base {

/// Sleep for `time`. Return false, at once, when a stop is requested.
inline bool sleep_for(const std::stop_token& stop, std::chrono::milliseconds time) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace kindlb::base
