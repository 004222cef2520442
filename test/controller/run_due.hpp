#pragma once
// A loop without a thread: the test runs it.

#include "loop.hpp"

#include <chrono>
#include <stop_token>

namespace kindlb::test {

/// Run what is queued or due, but not what that posts.
inline void run_due(controller::Loop& loop) {
  std::stop_source stop;
  // A timer that is due now comes after all others that are, and after what is queued.
  loop.after(std::chrono::milliseconds(0), [&] { stop.request_stop(); });
  loop.run(stop.get_token());
}

}  // namespace kindlb::test
