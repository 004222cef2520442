#pragma once
// The time, as a seam: what measures or waits asks a Clock, so that tests decide what time it is.
// Implementations are thread-safe.

#include <chrono>

namespace kindlb::base {

class Clock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  virtual ~Clock() = default;
  /// For delays and deadlines: never goes back.
  virtual TimePoint now() const = 0;
  /// For timestamps that leave the process. May go back: the machine's clock can be set.
  virtual std::chrono::system_clock::time_point wall() const = 0;
};

/// The machine's clocks. Lives as long as the process.
const Clock& machine_clock();

}  // namespace kindlb::base
