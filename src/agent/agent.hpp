#pragma once
// pid 1 of a proxy container. Holds the units, makes them true one step at a time, and answers for
// it: address free -> address and routes added -> Envoy's files swapped -> Envoy's word -> probes.
// Everything happens on one loop; not thread-safe.
//
// Envoy is given one generation at a time, and the next only after it has decided about the last:
// whatever it refuses then belongs to the units of that generation. Applies that come in meanwhile
// share the next one. If a shared generation is refused, its units are tried again one by one.
// Only files that change are written, and only the units concerned are asked for, so that a change
// costs about the same however many other units there are.

#include "control_server.hpp"
#include "envoy/ack_poller.hpp"
#include "envoy/supervisor.hpp"
#include "files.hpp"
#include "network/address_checks.hpp"
#include "network/packet_filter.hpp"
#include "network/probes.hpp"

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
  /// How many endpoint files Envoy can watch: one more, and it aborts.
  std::size_t watch_limit = protocol::kUsualWatches;
};

class Agent {
 public:
  Agent(Loop& loop, Network network, AgentOptions options);

  /// Takes up the stored units, starts Envoy, accepts clients.
  core::Result<void> start();
  /// Says goodbye, ends Envoy, then stops the loop.
  void stop(const std::string& reason);
  void child_exited(pid_t pid, int wait_status) { supervisor_.reaped(pid, wait_status); }

 private:
  struct CommittedUnit {
    protocol::Unit unit;
    bool acknowledged = false;
    bool suspended = false;  ///< its address was taken when we started
    std::uint64_t committed_by =
        0;  ///< the request that brought it; the newest word about a route counts
  };
  struct Request {
    enum class Stage { Checking, Announcing, Queued, Applying, Probing };
    std::uint64_t key = 0;
    ClientId client = 0;
    std::uint64_t id = 0;  ///< the message's
    bool is_release = false;
    protocol::Unit unit;
    std::vector<core::Probe> probes;
    std::chrono::milliseconds probe_timeout{};
    Stage stage = Stage::Checking;
    bool answered = false;  ///< superseded while Envoy was at it
    bool alone = false;     ///< must not share a generation
    unsigned crashes = 0;   ///< Envoy's, while at it
    std::unique_ptr<ProbeSet> probing;
    Loop::TimerId deadline = 0;
  };
  /// A generation Envoy has not decided about yet.
  struct PendingUpdate {
    std::vector<std::uint64_t> requests;
    bool is_start = false;  ///< Envoy's, with everything there is
    Loop::TimerId deadline = 0;
  };

  /// A diversion that ends, and what is behind it: answers still come from there.
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
  void broadcast_status(const std::string& text);
  std::vector<protocol::UnitState> unit_states() const;
  void write_state();

  // Starting and Envoy's life (agent.cpp)
  void load_units();
  void stored_unit_checked(const std::string& unit, const std::string& problem);
  void start_envoy();
  void envoy_started();
  void envoy_exited(const std::string& how);

  // Requests (agent_requests.cpp)
  Request& add_request(ClientId client, std::uint64_t id, protocol::Unit unit);
  void supersede(const std::string& unit);
  void address_checked(std::uint64_t key, const std::string& problem);
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
  void acks_changed(const AckPoller::AckStatuses& statuses, bool final);
  void update_processed(const AckPoller::AckStatuses& statuses);
  void update_timed_out();
  void conclude(Request& request, const AckPoller::AckStatuses& statuses);
  void retry_separately(const std::vector<std::uint64_t>& requests);
  void commit(Request& request);
  void commit_release(Request& request);
  void apply_committed();
  void envoy_live(const AckPoller::AckStatuses& statuses);

  // UDP rules (agent_udp_rules.cpp)
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
  Network network_;
  PacketFilter filter_;
  AgentOptions options_;
  UnitStore store_;
  XdsFiles files_;
  XdsHistory history_;
  AddressChecks checks_;
  AdminClient admin_;
  AckPoller ack_poller_;
  Supervisor supervisor_;
  ControlServer control_;

  protocol::EnvoyState envoy_ = protocol::EnvoyState::Starting;
  std::map<std::string, CommittedUnit> units_;
  std::map<std::uint64_t, Request> requests_;  ///< in order of arrival
  std::optional<PendingUpdate> update_;
  std::vector<DrainingListener> draining_;
  /// Refused or taken away, but Envoy may still have listeners there: guarded until it says. What
  /// was behind diversions stays shut: Envoy keeps a closed socket for the next listener at that
  /// port, with all that has come in.
  std::vector<core::UdpRule> quarantined_;
  Loop::TimerId drain_timer_ = 0;
  std::uint64_t last_request_ = 0;
  std::size_t unchecked_units_ = 0;  ///< stored units whose addresses are still being looked for
  Loop::TimerId route_recheck_ = 0;  ///< looks again at routes that outlive their wish
  bool stopping_ = false;
};

}  // namespace kindlb::agent
