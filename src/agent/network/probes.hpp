#pragma once
// Probes: TCP connections to endpoints, to find out whether the proxy can reach them at all before
// the Service is reported as serving. A probe succeeds when one of its targets accepts a
// connection, or refuses it where any answer will do; nothing is sent. Not health checking: Envoy
// does that.
//
// All targets are tried at once, in rounds until the deadline, since routes and pods may be a
// moment late. Runs on the loop, which must outlive it; not thread-safe. Destroying a probe cancels
// it without a callback.

#include "kindlb/base/fd.hpp"
#include "kindlb/protocol/protocol.hpp"
#include "loop.hpp"

#include <functional>
#include <list>
#include <map>
#include <string>
#include <vector>

namespace kindlb::agent {

/// One probe. Finishes with Reached, Refused (a host answered, but no port is open) or Unreachable.
class Prober {
 public:
  using Done = std::function<void()>;

  Prober(Loop& loop, core::Probe probe, std::chrono::milliseconds timeout, Done done);
  ~Prober();
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;

  /// Start the first round. It may finish at once, without calling `done`: check is_finished().
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
  Loop::TimePoint deadline_;
  std::map<int, Attempt> attempts_;
  Loop::TimerId retry_timer_ = 0;
  Loop::TimerId round_timer_ = 0;
  std::chrono::milliseconds round_timeout_;  ///< doubles from round to round
  Loop::TimerId deadline_timer_ = 0;
  std::chrono::milliseconds retry_delay_;
  bool starting_ = false;  ///< within round(), which itself checks for the end of the round
  bool no_route_ = true;   ///< every failure of this round was "no route"
  bool refused_ = false;
  bool finished_ = false;
  std::string last_failure_;
  protocol::ProbeOutcome outcome_;
};

/// All probes of one Apply, in parallel. `finished` is called from the loop whenever one finishes
/// that did not do so in the constructor.
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
