#pragma once
// The agent's only thread: waits for descriptors and timers and calls what was registered for them.
// Callbacks may add and remove descriptors and timers, their own included. Not thread-safe.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

struct pollfd;

namespace kindlb::agent {

class Loop {
 public:
  using Clock = std::chrono::steady_clock;
  using Ready = std::function<void(short revents)>;
  using Action = std::function<void()>;
  using TimerId = std::uint64_t;  ///< never 0

  /// Calls `ready` whenever one of `events` (POLLIN, POLLOUT) is there; replaces a former watch.
  void watch(int fd, short events, Ready ready);
  void unwatch(int fd);
  TimerId after(Clock::duration delay, Action action);
  void cancel(TimerId timer);

  void run();  ///< until stop(); may be run again
  void stop() { stopped_ = true; }

 private:
  struct Watch {
    short events = 0;
    std::uint64_t serial = 0;  ///< tells a descriptor from a later one with the same number
    Ready ready;
  };

  void wait_once();
  int wait_milliseconds() const;
  void run_due_timers();
  void dispatch(const std::vector<pollfd>& polled, std::uint64_t newest);

  std::map<int, Watch> watches_;
  std::map<std::pair<Clock::time_point, TimerId>, Action> timers_;
  std::map<TimerId, Clock::time_point> due_;
  std::uint64_t serial_ = 0;
  TimerId last_timer_ = 0;
  bool stopped_ = false;
};

}  // namespace kindlb::agent
