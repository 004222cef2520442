#pragma once
// Runs a loop until a condition holds, for tests of what lives on it. Sockets and processes are
// real; the time of timers is the test's own wherever it gives the loop a ManualClock.

#include "loop.hpp"
#include "support/fakes/manual_clock.hpp"

#include <poll.h>

#include <functional>

namespace kindlb::agent {

/// Run the loop until the condition holds. The limit is one of real time: for a condition that
/// depends on a socket or a process.
inline bool run_until(Loop& loop, const std::function<bool()>& condition,
                      std::chrono::milliseconds limit = std::chrono::seconds(5)) {
  const auto end = base::machine_clock().now() + limit;
  while (!condition()) {
    if (base::machine_clock().now() > end) return false;
    if (!loop.run_due()) ::poll(nullptr, 0, 1);
  }
  return true;
}

/// Run what is due, and whatever that makes due.
inline void settle(Loop& loop) {
  while (loop.run_due()) {
  }
}

/// Let the clock go on in steps of a millisecond, as far as `by`, until the condition holds.
inline bool advance_until(Loop& loop, testing::ManualClock& clock,
                          const std::function<bool()>& condition, std::chrono::milliseconds by) {
  settle(loop);
  for (; !condition() && by.count() > 0; --by) {
    clock.advance(std::chrono::milliseconds(1));
    settle(loop);
  }
  return condition();
}

}  // namespace kindlb::agent
