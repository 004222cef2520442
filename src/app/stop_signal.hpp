#pragma once
// Ctrl-C and SIGTERM as a stop_token. Made before any other thread, so that all inherit the mask.
// A second signal ends the process at once: everything kindlb does may be cut off at any point.
// A terminal that is closed counts as Ctrl-C, unless that is to be ignored (nohup).

#include <chrono>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace kindlb::app {

class StopSignal {
 public:
  /// `timeout`: how long an orderly end may take after the signal. Then the process ends anyway,
  /// with the code `timeout_code`, whatever still waits for an answer.
  explicit StopSignal(std::chrono::milliseconds timeout, int timeout_code = 0);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  std::stop_token token() const { return source_.get_token(); }
  void wait() const;
  /// To be done before the process is ended by a second signal or for want of timeout, on a thread
  /// of its own. An empty one takes it back.
  void before_forced_exit(std::function<void()> action);

 private:
  void end(int code);

  std::mutex mutex_;
  std::function<void()> before_forced_exit_;
  std::stop_source source_;
  std::jthread waiter_;
};

}  // namespace kindlb::app
