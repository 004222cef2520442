#pragma once
// Asks Envoy once a second whether it still answers, and reports when it is hung.
//
// The question is a byte on a connection to the agent's own listener (liveness_listener.hpp), which
// a worker thread sends back. The connection is kept: a question then costs Envoy a wake-up and
// nothing else. There is one question at a time. When the answer is overdue, what Envoy's threads
// do decides (liveness_verdict.hpp), over a time in which the agent itself was not delayed: after a
// pause of the container, or on a machine that is short of processors, Envoy gets its turn first.
// A hung Envoy is known at most kInterval + kOverdue + kLook after it last answered.
//
// Runs on the loop, which must outlive it; not thread-safe.

#include "kindlb/base/fd.hpp"
#include "liveness/threads.hpp"
#include "loop.hpp"

#include <functional>
#include <string>
#include <vector>

namespace kindlb::agent {

class LivenessCheck {
 public:
  /// From an answer to the next question.
  static constexpr std::chrono::milliseconds kInterval{1'000};
  /// An answer usually takes a tenth of a millisecond.
  static constexpr std::chrono::milliseconds kOverdue{300};
  /// From one look at the threads to the next.
  static constexpr std::chrono::milliseconds kLook{500};
  /// A look that comes later than this after its time says that the agent was delayed.
  static constexpr std::chrono::milliseconds kDelayed{150};

  struct Events {
    /// Return Envoy's threads now.
    std::function<std::vector<Thread>()> threads;
    /// Envoy is hung. Nothing more is asked until the next start().
    std::function<void(std::chrono::milliseconds waited)> hung;
  };

  /// `socket`: a path, or an abstract name after "@".
  LivenessCheck(Loop& loop, std::string socket, Events events)
      : loop_(loop), socket_(std::move(socket)), events_(std::move(events)) {}
  ~LivenessCheck() { stop(); }
  LivenessCheck(const LivenessCheck&) = delete;
  LivenessCheck& operator=(const LivenessCheck&) = delete;

  /// Envoy is live and has the listener.
  void start();
  /// Envoy has exited, or is about to.
  void stop();

 private:
  void ask();
  bool connect();
  void disconnect();
  void readable();
  void answered();
  void look_after(Loop::Duration delay);
  void look();
  void judge();
  std::chrono::milliseconds waited() const;

  Loop& loop_;
  std::string socket_;
  Events events_;
  base::Fd connection_;
  Loop::TimerId timer_ = 0;  ///< the next question, or the next look
  Loop::TimePoint asked_;
  Loop::TimePoint due_;        ///< when the next look is to be
  std::vector<Thread> first_;  ///< at the first look; empty while the answer is not overdue
  std::vector<Thread> before_;
  bool running_ = false;
  bool reported_ = false;  ///< that this question takes long
};

}  // namespace kindlb::agent
