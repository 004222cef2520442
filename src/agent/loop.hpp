#pragma once
// An event loop over poll(2): waits for descriptors and timers and calls what is registered for
// them. All of the agent runs on it, on one thread, so that none of its state needs a lock;
// callbacks must therefore be short and not block. poll rather than epoll: there are a few dozen
// descriptors.
//
// Callbacks may add and remove descriptors and timers, their own included: an entry removed by one
// callback is not called later in the same round, even if its descriptor number has been reused.
// The loop owns no descriptors: unwatch before close. Not thread-safe.
//
// What time it is, for timers and for everything that runs on the loop, is the clock's to say. With
// a clock that a test moves, run_due() takes the place of run(), and nothing waits.

#include "kindlb/base/clock.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

struct pollfd;

namespace kindlb::agent {

class Loop {
 public:
  using TimePoint = base::Clock::TimePoint;
  using Duration = TimePoint::duration;
  using Ready = std::function<void(short revents)>;
  using Action = std::function<void()>;
  using TimerId = std::uint64_t;  ///< never 0

  /// The clock must outlive the loop.
  explicit Loop(const base::Clock& clock = base::machine_clock()) : clock_(clock) {}

  TimePoint now() const { return clock_.now(); }
  /// Call `ready` whenever one of `events` (POLLIN, POLLOUT), an error or a hang-up is there, until
  /// unwatch(). Replaces a former watch of the descriptor.
  void watch(int fd, short events, Ready ready);
  void unwatch(int fd);
  /// Call `action` once, not before `delay` has passed and never from within after(). A delay of
  /// zero means the next round. Timers with the same due time run in the order they were set.
  TimerId after(Duration delay, Action action);
  /// Do nothing for a timer that has run or was cancelled, or for 0.
  void cancel(TimerId timer);

  /// Run until stop() is called from a callback. May be called again afterwards.
  void run();
  void stop() { stopped_ = true; }
  /// Run one round without waiting: call what is ready and what is due now. Return whether there
  /// was anything. What a callback sets without delay is due in the next round.
  bool run_due();

 private:
  struct Watch {
    short events = 0;
    std::uint64_t serial = 0;  ///< tells a descriptor from a later one with the same number
    Ready ready;
  };

  bool run_round(int wait);
  int wait_milliseconds() const;
  bool run_due_timers();
  void dispatch(const std::vector<pollfd>& polled, std::uint64_t newest);

  const base::Clock& clock_;
  std::map<int, Watch> watches_;
  std::map<std::pair<TimePoint, TimerId>, Action> timers_;
  std::map<TimerId, TimePoint> due_;  ///< finds a timer in timers_ by its id
  std::uint64_t serial_ = 0;
  TimerId last_timer_ = 0;
  bool stopped_ = false;
};

}  // namespace kindlb::agent
