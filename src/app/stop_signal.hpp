#pragma once
// Ctrl-C and SIGTERM as a stop_token. Made before any other thread, so that all inherit the mask.
// A second signal ends the process at once: everything kindlb does may be cut off at any point.

#include <chrono>
#include <stop_token>
#include <thread>

namespace kindlb::app {

class StopSignal {
 public:
  StopSignal();
  ~StopSignal();

  std::stop_token token() const { return source_.get_token(); }
  /// Ends the process after `patience` whatever is still waiting for an answer.
  void leave_within(std::chrono::milliseconds patience);

 private:
  std::stop_source source_;
  std::jthread waiter_;
  std::jthread last_resort_;
};

}  // namespace kindlb::app
