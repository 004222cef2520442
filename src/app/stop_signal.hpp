#pragma once
// SIGINT and SIGTERM as a stop_token. A closed terminal (SIGHUP) counts as Ctrl-C, unless SIGHUP is
// ignored (nohup).
//
//   first signal         the token is stopped, and the command ends in an orderly way
//   second signal        the process ends at once, with exit code 130
//   timeout expired      the process ends at once, with the exit code given to the constructor
//
// Ending at once is safe for Services: kindlb may be cut off at any point, and the next one adopts
// what it finds. What must not be left behind even then is removed by before_forced_exit().

#include <chrono>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace kindlb::app {

/// Construct it before any other thread is started: threads inherit the signal mask, and only the
/// thread of this object may receive the signals. One per process.
class StopSignal {
 public:
  /// `timeout`: how long an orderly end may take after the first signal, for example because an
  /// engine or API server does not answer. `timeout_code`: the exit code when it has passed.
  explicit StopSignal(std::chrono::milliseconds timeout, int timeout_code = 0);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  std::stop_token token() const { return source_.get_token(); }
  /// Block until the first signal.
  void wait() const;
  /// Register what to do before the process is ended by force; it replaces what was registered
  /// before, and an empty function unregisters it. It runs on the signal thread while all other
  /// threads are still running. Once this function has returned, the previous action neither runs
  /// nor starts any more, so it may refer to objects that are then destroyed.
  void before_forced_exit(std::function<void()> action);

 private:
  void end(int code);

  std::mutex mutex_;  ///< held while before_forced_exit_ runs
  std::function<void()> before_forced_exit_;
  std::stop_source source_;
  std::jthread waiter_;
};

}  // namespace kindlb::app
