#pragma once
// The agent: pid 1 of a proxy container. It owns everything the container does for its Services and
// is the only process that changes the network namespace or Envoy's files. kindlb sends it complete
// units (one per Service); for each the agent goes through these stages and then answers:
//
//   address free? -> address, routes and UDP rules installed -> Envoy's files replaced
//   -> Envoy's ACK on its admin interface -> probes of the endpoints -> Applied or Rejected
//
// Everything runs on one event loop; not thread-safe. The object lives as long as the process.
//
// Which configuration is live
// - `units_` holds what has been committed: for each Service the last unit that Envoy acknowledged.
//   It is also what the state directory stores, and what a restarted container or Envoy gets.
// - `requests_` holds what kindlb has asked for since and has not been answered.
// - `update_` is the one snapshot Envoy has been given and has not decided about. At most one is
//   pending: a NACK then belongs to the requests of that update and to no other. Requests that
//   arrive meanwhile share the next update.
// - A unit replaces its predecessor in `units_` only on ACK. On NACK or timeout the committed
//   content is written again, so that Envoy and `units_` agree: a Service with a bad new
//   configuration keeps its old one.
// - One bad resource can make Envoy reject a whole file (see envoy/admin.hpp), so a NACK does not
//   tell which unit is at fault. The requests of a shared update are then tried again one at a
//   time, and only the bad ones are rejected.
//
// Costs do not grow with the number of Services: an update rewrites only files that changed, and
// statistics are requested only for the clusters of its units.

#include "control_server.hpp"
#include "envoy/ack_poller.hpp"
#include "envoy/supervisor.hpp"
#include "files.hpp"
#include "network/address_checks.hpp"
#include "network/probes.hpp"
#include "udp/packet_filter.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::agent {

struct AgentOptions {
  std::filesystem::path state_directory;
  std::string control_socket;
  std::string admin_socket;
  EnvoyCommand envoy;
  /// How many endpoint files Envoy can watch. Envoy takes one inotify instance per file and aborts
  /// when the kernel grants none, so a snapshot beyond the limit must never be written.
  std::size_t watch_limit = protocol::kUsualWatches;
};

class Agent {
 public:
  /// Loop, network and filter must outlive it.
  Agent(Loop& loop, Network& network, PacketFilter& filter, AgentOptions options);

  /// Listen for kindlb, load the stored units, check their addresses and start Envoy with them.
  /// Only a control socket that cannot be opened is an error: a unit that cannot be served again
  /// is logged and skipped, since it must not keep the other Services down.
  core::Result<void> start();
  /// Send Bye to every client, terminate Envoy, then stop the loop.
  void stop(const std::string& reason);
  /// Report a child that was reaped: Envoy or, since this is pid 1, an orphan of `docker exec`.
  void child_exited(pid_t pid, int wait_status) { supervisor_.reaped(pid, wait_status); }

 private:
  struct CommittedUnit {
    protocol::Unit unit;
    bool acknowledged = false;  ///< by the Envoy that runs now
    /// Not served: at start its address was in use by another host, or the kernel refused its UDP
    /// rules. Neither the network nor Envoy gets it until kindlb applies the unit again.
    bool suspended = false;
    /// Key of the request that brought it, 0 if it was stored. Orders units by age: where two
    /// disagree about a route, the newer one is right (see desired_network).
    std::uint64_t committed_by = 0;
  };

  /// An Apply or Release under way.
  struct Request {
    /// Checking: waiting for AddressChecks; nothing has been changed for it yet.
    /// Announcing: address, routes and rules are installed; neighbours are told this turn.
    /// Queued: waiting for its update. Probes run from here on.
    /// Applying: part of `update_`.
    /// Probing: committed; only the answer waits, for the probes.
    enum class Stage { Checking, Announcing, Queued, Applying, Probing };
    std::uint64_t key = 0;
    ClientId client = 0;
    std::uint64_t id = 0;  ///< of the message, repeated in the answer
    bool is_release = false;
    protocol::Unit unit;
    std::vector<core::Probe> probes;
    std::chrono::milliseconds probe_timeout{};
    Stage stage = Stage::Checking;
    /// Superseded while Applying: Envoy's decision is awaited, but no second answer is sent.
    bool answered = false;
    bool alone = false;    ///< must not share an update: it was part of one that failed
    unsigned crashes = 0;  ///< of Envoy while this was Applying; the second one rejects it
    std::unique_ptr<ProbeSet> probing;
    Loop::TimerId deadline = 0;  ///< until Applying; then the update's deadline counts
  };

  /// A snapshot that Envoy has been given and has not decided about.
  struct PendingUpdate {
    std::vector<std::uint64_t> requests;  ///< none: a rollback, or drained listeners removed
    bool is_start = false;                ///< Envoy's start, with every committed unit
    Loop::TimerId deadline = 0;
  };

  /// A redirection that has ended. Its listener stays in the snapshot for a while, with cluster and
  /// endpoints, because the answers to datagrams it has already forwarded come back through it.
  struct DrainingListener {
    core::UdpRule rule;
    XdsSnapshot resources;
  };

  // Messages (agent.cpp)
  void send_hello(ClientId client);
  void receive(ClientId client, std::string_view line);
  void receive(ClientId client, const protocol::Prepare& prepare);
  void receive(ClientId client, protocol::Apply apply);
  void receive(ClientId client, const protocol::Release& release);
  void reject(Request& request, protocol::RejectStage stage, const std::string& text);
  void answer_applied(Request& request);
  void write_state();
  void broadcast_status(const std::string& text);
  std::vector<protocol::UnitState> unit_states() const;

  // Start, and Envoy's life cycle (agent.cpp)
  void load_units();
  void stored_unit_checked(const std::string& unit, const AddressChecks::Problem& problem);
  void start_envoy();
  void envoy_started();
  void envoy_exited(const std::string& how);

  // Requests (agent_requests.cpp)
  Request& add_request(ClientId client, std::uint64_t id, protocol::Unit unit);
  void supersede(const std::string& unit);
  void address_checked(std::uint64_t key, const AddressChecks::Problem& problem);
  void network_ready();
  void begin_probing(Request& request);
  void requeue_alone(Request& request);
  void request_timed_out(std::uint64_t key);
  void probes_changed(std::uint64_t key);
  void end_request(std::uint64_t key);
  DesiredNetwork desired_network() const;
  void sync_network();

  // Updates of Envoy (agent_updates.cpp)
  void start_next_update();
  std::vector<std::uint64_t> next_batch();
  std::string watch_limit_problem(const std::vector<std::uint64_t>& batch) const;
  std::vector<std::uint64_t> reject_unacceptable(const std::vector<std::uint64_t>& batch);
  void start_update(const std::vector<std::uint64_t>& batch);
  XdsSnapshot committed_snapshot(const std::vector<std::uint64_t>& except) const;
  bool write_snapshot(const XdsSnapshot& snapshot);
  void await_acks(std::vector<std::uint64_t> requests, bool changed);
  void acks_changed(const AckStatuses& statuses, bool final);
  void update_processed(const AckStatuses& statuses);
  void update_timed_out();
  void conclude(Request& request, const AckStatuses& statuses);
  void retry_separately(const std::vector<std::uint64_t>& requests);
  void commit(Request& request);
  void commit_release(Request& request);
  void apply_committed();
  void envoy_live(const AckStatuses& statuses);

  // UDP rules (agent_udp_rules.cpp, which states their invariants)
  protocol::Unit swap_listener_variants(protocol::Unit unit) const;
  nftables::Rules packet_rules() const;
  void install_stored_rules();
  bool is_draining(const core::UdpRule& rule) const;
  void start_draining(const Request& next);
  void schedule_drain_end(const protocol::Unit& former, const protocol::Unit& next);
  void remove_drained();
  void quarantine(core::UdpRule rule);
  void quarantine(const protocol::Unit& refused);
  void free_ports_for(const protocol::Unit& unit);
  void lift_quarantine();
  void lift_quarantine(const protocol::Unit& released);
  void forget_udp_state();
  XdsSnapshot with_draining(XdsSnapshot snapshot) const;

  Loop& loop_;
  Network& network_;
  PacketFilter& filter_;
  AgentOptions options_;
  UnitStore store_;
  XdsFiles files_;
  XdsHistory history_;  ///< what the files say now, and said in earlier versions
  AddressChecks checks_;
  AckPoller ack_poller_;
  Supervisor supervisor_;
  ControlServer control_;

  protocol::EnvoyState envoy_ = protocol::EnvoyState::Starting;
  std::map<std::string, CommittedUnit> units_;  ///< by unit name
  std::map<std::uint64_t, Request> requests_;   ///< by key: in order of arrival
  std::optional<PendingUpdate> update_;
  std::vector<DrainingListener> draining_;
  /// Rules of listeners that were rejected or removed while Envoy may still have them open. The
  /// port stays filtered until an ACK proves that they are closed. A redirect port stays blocked
  /// even then: Envoy reuses the socket of a closed listener, with the datagrams queued in it, for
  /// the next listener on that port.
  std::vector<core::UdpRule> quarantined_;
  Loop::TimerId drain_timer_ = 0;
  std::uint64_t last_request_ = 0;
  std::size_t unchecked_units_ = 0;  ///< stored units whose address check has not finished
  Loop::TimerId route_recheck_ = 0;  ///< pending while stale routes are kept for open connections
  bool stopping_ = false;
};

}  // namespace kindlb::agent
