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
  struct Held {
    protocol::Unit unit;
    bool acknowledged = false;
    bool withheld = false;    ///< its address was taken when we started
    std::uint64_t since = 0;  ///< the job that brought it; the newest word about a route counts
  };
  struct Job {
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
  struct Transaction {
    std::vector<std::uint64_t> jobs;
    bool is_start = false;  ///< Envoy's, with everything there is
    Loop::TimerId deadline = 0;
  };

  /// A diversion that ends, and what is behind it: answers still come from there.
  struct Leaving {
    core::UdpRule gate;
    XdsSnapshot behind;
  };

  // Messages (agent.cpp)
  void greet(ClientId client);
  void receive(ClientId client, std::string_view line);
  void receive(ClientId client, const protocol::Prepare& prepare);
  void receive(ClientId client, protocol::Apply apply);
  void receive(ClientId client, const protocol::Release& release);
  void reject(Job& job, protocol::RejectStage stage, const std::string& text);
  void answer_applied(Job& job);
  void tell_status(const std::string& text);
  std::vector<protocol::UnitState> unit_states() const;
  void write_state();

  // Starting and Envoy's life (agent.cpp)
  void load_units();
  void unit_checked(const std::string& unit, const std::string& problem);
  void begin_serving();
  void envoy_started();
  void envoy_exited(const std::string& how);

  // Jobs (agent_jobs.cpp)
  Job& add_job(ClientId client, std::uint64_t id, protocol::Unit unit);
  void supersede(const std::string& unit);
  void address_checked(std::uint64_t key, const std::string& problem);
  void network_ready();
  void begin_probing(Job& job);
  void requeue_alone(Job& job);
  void out_of_time(std::uint64_t key);
  void probes_changed(std::uint64_t key);
  void end_job(std::uint64_t key);
  DesiredNetwork desired_network() const;
  void sync_network();

  // Generations (agent_generations.cpp)
  void pump();
  std::vector<std::uint64_t> next_batch();
  std::string overload(const std::vector<std::uint64_t>& batch) const;
  std::vector<std::uint64_t> admit(const std::vector<std::uint64_t>& batch);
  void begin(const std::vector<std::uint64_t>& batch);
  XdsSnapshot held_snapshot(const std::vector<std::uint64_t>& except) const;
  bool write_snapshot(const XdsSnapshot& snapshot);
  void confirm(std::vector<std::uint64_t> jobs, bool changed);
  void judged(const AckPoller::AckStatuses& statuses, bool final);
  void confirmed(const AckPoller::AckStatuses& statuses);
  void transaction_late();
  void settle(Job& job, const AckPoller::AckStatuses& statuses);
  void split(const std::vector<std::uint64_t>& jobs);
  void commit(Job& job);
  void commit_release(Job& job);
  void restore();
  void envoy_live(const AckPoller::AckStatuses& statuses);

  // UDP behind gates (agent_gates.cpp)
  protocol::Unit turned_over(protocol::Unit unit) const;
  nftables::Rules packet_rules() const;
  void guard_stored();
  bool is_leaving(const core::UdpRule& gate) const;
  void keep_diverted(const Job& next);
  void end_diversions(const protocol::Unit& former, const protocol::Unit& next);
  void leave();
  void close(core::UdpRule gate);
  void close(const protocol::Unit& refused);
  void make_way(const protocol::Unit& unit);
  void forget_closed();
  void forget_closed(const protocol::Unit& released);
  void forget_diverted();
  XdsSnapshot with_leaving(XdsSnapshot snapshot) const;

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
  std::map<std::string, Held> held_;
  std::map<std::uint64_t, Job> jobs_;  ///< in order of arrival
  std::optional<Transaction> transaction_;
  std::vector<Leaving> leaving_;
  /// Refused or taken away, but Envoy may still have listeners there: guarded until it says. What
  /// was behind diversions stays shut: Envoy keeps a closed socket for the next listener at that
  /// port, with all that has come in.
  std::vector<core::UdpRule> closing_;
  Loop::TimerId leave_ = 0;
  std::uint64_t last_job_ = 0;
  std::size_t unchecked_ = 0;  ///< stored units whose addresses are still being looked for
  Loop::TimerId linger_ = 0;   ///< looks again at routes that outlive their wish
  bool stopping_ = false;
};

}  // namespace kindlb::agent
