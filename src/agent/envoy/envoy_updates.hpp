#pragma once
// Updates of Envoy: takes queued requests, writes a snapshot with them to Envoy's files, and
// commits or rejects them by what Envoy decides. It also knows whether Envoy is live.
//
// Which configuration is live
// - CommittedUnits holds for each Service the last unit that Envoy acknowledged, Requests what
//   kindlb has asked for since, AwaitedUpdate the one update Envoy has not decided about. Requests
//   that arrive meanwhile share the next update.
// - A unit replaces its committed predecessor only on ACK. On NACK or timeout the committed content
//   is written again, so that Envoy and the committed units agree: a Service with a bad new
//   configuration keeps its old one.
// - One bad resource can make Envoy reject a whole file (see envoy/admin.hpp), so a NACK does not
//   tell which unit is at fault. The requests of a shared update are then tried again one at a
//   time, and only the bad ones are rejected.
//
// Invariants
// - The files always hold the committed units, with the requests of the pending update in the place
//   of their predecessors, plus draining listeners. After an update that was not accepted whole,
//   apply_committed takes the rejected content out again.
// - UDP rules are installed before the files are written and removed after Envoy's ACK: see
//   udp/udp_rules.hpp.
// - Costs do not grow with the number of Services: an update rewrites only files that changed, and
//   statistics are requested only for the clusters of its units.
// Runs on the loop; not thread-safe. All that it is given must outlive it.

#include "committed_units.hpp"
#include "envoy/awaited_update.hpp"
#include "envoy/envoy_log.hpp"
#include "envoy/update_batch.hpp"
#include "envoy/xds_publisher.hpp"
#include "network/network_sync.hpp"
#include "requests.hpp"
#include "udp/udp_rules.hpp"

#include <functional>
#include <string>
#include <vector>

namespace kindlb::agent {

class EnvoyUpdates {
 public:
  /// What an update works on.
  struct Parts {
    CommittedUnits& units;
    Requests& requests;
    UdpRules& rules;
    NetworkSync& network;
    XdsPublisher& xds;
    EnvoyLog& log;
  };
  struct Events {
    /// Read what Envoy has logged by now into the log.
    std::function<void()> read_log;
    /// The committed units have changed.
    std::function<void()> units_changed;
    /// Envoy has decided about the committed units after its start.
    std::function<void()> live;
    /// Envoy has the agent's own listener, too. The next Envoy has it when it is live.
    std::function<void()> own_listener_accepted;
  };

  /// `watch_limit`: how many endpoint files Envoy can watch.
  EnvoyUpdates(Loop& loop, AckSource& acks, std::size_t watch_limit, Parts parts, Events events);

  protocol::EnvoyState state() const { return state_; }
  /// Start an update with the queued requests, unless one is pending or Envoy is not live. To be
  /// called whenever that may have changed.
  void start_next();
  /// Start no more updates: the agent is about to exit.
  void stop() { stopped_ = true; }
  bool is_stopped() const { return stopped_; }

  /// Envoy was started, with the committed units in its files.
  void envoy_started();
  /// Envoy has exited: nothing is acknowledged any more. recover() is due before it starts again.
  void envoy_exited();
  /// Roll back to what is committed, after envoy_exited(). `how` it exited, for users.
  void recover(const std::string& how);

  /// Requests::Events: reject the request. A Release is carried out all the same: removing what a
  /// dead Envoy does not serve needs no consent.
  void request_timed_out(RequestKey key);
  /// UdpRules: take drained listeners out of the snapshot, between two updates.
  void remove_drained();

 private:
  WatchBudget budget() const { return {parts_.xds.snapshot(), watch_limit_}; }
  void release_without_envoy();
  std::vector<const Request*> reject_unacceptable(std::vector<const Request*> batch);
  void start_update(const std::vector<const Request*>& batch);
  bool is_refused(const Request& request) const;
  XdsSnapshot start_applying(const std::vector<const Request*>& requests);
  void withdraw(const std::vector<const Request*>& requests, protocol::RejectStage stage,
                const std::string& why);

  void accepted(const std::vector<RequestKey>& requests);
  void decided(const AwaitedUpdate::Update& update, const AckStatuses& statuses);
  void processed(const AwaitedUpdate::Update& update, const AckStatuses& statuses);
  void timed_out(const AwaitedUpdate::Update& update, const AckStatuses& statuses);
  void envoy_live(const AckStatuses& statuses);
  bool offer_own_listener();
  void own_listener_decided(bool accepted);

  void conclude(RequestKey key, const AckStatuses& statuses);
  void commit(RequestKey key);
  void release(RequestKey key);
  void apply_committed();
  void publish_committed();
  void lift_filters();

  Parts parts_;
  Events events_;
  std::size_t watch_limit_;
  AwaitedUpdate update_;
  protocol::EnvoyState state_ = protocol::EnvoyState::Starting;
  bool stopped_ = false;
};

}  // namespace kindlb::agent
