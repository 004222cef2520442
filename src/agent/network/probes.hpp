#pragma once
// Tries to connect to a probe's targets until one accepts: many at once, again and again until the
// deadline. Runs on the loop. Destroying it gives up silently. Not thread-safe.

#include "kindlb/base/fd.hpp"
#include "kindlb/protocol/protocol.hpp"
#include "loop.hpp"

#include <functional>
#include <list>
#include <map>
#include <string>
#include <vector>

namespace kindlb::agent {

/// One probe.
class Prober {
 public:
  using Done = std::function<void()>;

  Prober(Loop& loop, core::Probe probe, std::chrono::milliseconds timeout, Done done);
  ~Prober();
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;

  /// Begins; may finish at once, without calling `done`.
  void start() { round(); }
  bool is_finished() const { return finished_; }
  const protocol::ProbeOutcome& outcome() const { return outcome_; }

 private:
  struct Attempt {
    base::Fd socket;
    core::Target target;
  };

  void round();
  void connect(const core::Target& target);
  void completed(int fd);
  void failed(const core::Target& target, int error);
  void round_ended();
  void round_timed_out();
  void deadline_passed();
  void finish(protocol::ProbeResult result, std::string detail);
  void drop_attempts();

  Loop& loop_;
  core::Probe probe_;
  Done done_;
  Loop::Clock::time_point deadline_;
  std::map<int, Attempt> attempts_;
  Loop::TimerId retry_timer_ = 0;
  Loop::TimerId round_timer_ = 0;
  std::chrono::milliseconds round_timeout_;  ///< with one round
  Loop::TimerId deadline_timer_ = 0;
  std::chrono::milliseconds retry_delay_;
  bool starting_ = false;  ///< within round(): its end is judged once, by round() itself
  bool no_route_ = true;   ///< every failure of this round was "no route"
  bool refused_ = false;
  bool finished_ = false;
  std::string last_failure_;
  protocol::ProbeOutcome outcome_;
};

/// All probes of one Apply.
class ProbeSet {
 public:
  ProbeSet(Loop& loop, const std::vector<core::Probe>& probes, std::chrono::milliseconds timeout,
           const std::function<void()>& finished);

  bool is_finished() const;
  std::vector<protocol::ProbeOutcome> outcomes() const;

 private:
  std::list<Prober> probers_;
};

}  // namespace kindlb::agent
