#pragma once
// The one update that Envoy has been given and has not decided about. At most one is pending: a
// NACK then belongs to the requests of that update and to no other.
//
// It waits for Envoy's decision and reports it; what follows from a decision is for EnvoyUpdates.
// When `decided` or `timed_out` is called, the update is over: the callee may start the next one.
// Runs on the loop, which must outlive it as must the source; not thread-safe.

#include "envoy/ack_source.hpp"
#include "loop.hpp"
#include "requests.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::agent {

class AwaitedUpdate {
 public:
  enum class Kind {
    Start,     ///< Envoy's start, with every committed unit and without requests
    Requests,  ///< requests in the place of their predecessors
    Rollback,  ///< only takes content out: what was rejected, or listeners that have drained
    Own,       ///< the agent's own listener, which Envoy may refuse
  };
  struct Update {
    Kind kind = Kind::Requests;
    std::vector<RequestKey> requests;  ///< those Envoy has not yet accepted
  };
  struct Events {
    /// Envoy serves these requests, while it has not decided about the others. They are no longer
    /// part of the update.
    std::function<void(const std::vector<RequestKey>&)> accepted;
    /// Envoy has decided about everything.
    std::function<void(const Update&, const AckStatuses&)> decided;
    /// Envoy has not decided within the limit: a cluster warms for ever, or the admin interface
    /// does not answer. At start, only once Envoy is live.
    std::function<void(const Update&, const AckStatuses&)> timed_out;
  };

  static constexpr std::chrono::seconds kAckTimeout{10};
  /// No client waits for a rollback, and the next request should not either.
  static constexpr std::chrono::seconds kRollbackTimeout{2};

  AwaitedUpdate(Loop& loop, AckSource& acks, Events events)
      : loop_(loop), acks_(acks), events_(std::move(events)) {}
  ~AwaitedUpdate();
  AwaitedUpdate(const AwaitedUpdate&) = delete;
  AwaitedUpdate& operator=(const AwaitedUpdate&) = delete;

  bool is_pending() const { return update_.has_value(); }
  bool is_own() const { return update_ && update_->kind == Kind::Own; }
  /// Await an Envoy that has just been started. The baseline for its statistics is zero: the
  /// counters of a new Envoy start there.
  void await_start(std::vector<protocol::Unit> units);
  /// Await the decision about requests that are in the files now. `changed`: the files have just
  /// been written. If they already were so, Envoy's counters will not move: they are compared with
  /// zero, so that its decision about the same content counts. REQUIRES: none is pending.
  void await_requests(const std::vector<const Request*>& requests, bool changed);
  void await_rollback();
  void await_own(const protocol::Resource& listener);
  /// Envoy has exited. Return the requests whose update it has not decided about.
  std::vector<RequestKey> abandon();

 private:
  void await(Update update, std::vector<protocol::Unit> units, const AdminStats& before);
  void changed(const AckStatuses& statuses, bool final);
  std::vector<RequestKey> take_accepted(const AckStatuses& statuses);
  void deadline_passed();
  void start_deadline();
  Update take();

  Loop& loop_;
  AckSource& acks_;
  Events events_;
  std::optional<Update> update_;
  std::map<RequestKey, std::string> units_;  ///< the names of its requests' units
  Loop::TimerId deadline_ = 0;
};

/// Return whether Envoy accepted everything.
bool all_acked(const AckStatuses& statuses);

}  // namespace kindlb::agent
