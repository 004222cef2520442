#pragma once
// A clock that stands still until a test moves it. Thread-safe.

#include "kindlb/base/clock.hpp"

#include <atomic>
#include <chrono>

namespace kindlb::testing {

class ManualClock final : public base::Clock {
 public:
  TimePoint now() const override { return TimePoint(elapsed_.load()); }
  std::chrono::system_clock::time_point wall() const override {
    return std::chrono::sys_days(std::chrono::January / 1 / 2026) + elapsed_.load() + shift_.load();
  }
  void advance(std::chrono::milliseconds by) { elapsed_ = elapsed_.load() + by; }
  /// Set the wall clock alone, as an administrator or NTP would.
  void shift_wall(std::chrono::milliseconds by) { shift_ = shift_.load() + by; }

 private:
  std::atomic<std::chrono::milliseconds> elapsed_{std::chrono::hours(1)};
  std::atomic<std::chrono::milliseconds> shift_{std::chrono::milliseconds(0)};
};

}  // namespace kindlb::testing
