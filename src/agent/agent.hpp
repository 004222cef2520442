#pragma once
// The agent: pid 1 of a proxy container. It owns everything the container does for its Services and
// is the only process that changes the network namespace or Envoy's files. kindlb sends it complete
// units (one per Service); for each the agent goes through these stages and then answers:
//
//   address free? -> address, routes and UDP rules installed -> Envoy's files replaced
//   -> Envoy's ACK on its admin interface -> probes of the endpoints -> Applied or Rejected
//
// This class only composes: it starts and stops the parts, passes messages of kindlb and events of
// Envoy on to them, and reports the state. Who owns what:
//
//   CommittedUnits  what is served, and stored      Requests      what is asked for, how far
//   RequestIntake   a request until the queue       EnvoyUpdates  from the queue to the answer
//   NetworkSync     addresses and routes            UdpRules      draining, quarantine
//   XdsPublisher    Envoy's files, their versions   Supervisor    Envoy's process
//   LivenessCheck   does Envoy still answer?        NetworkGuard  what the namespace has lost
//
// Everything runs on one event loop; not thread-safe. The object lives as long as the process.

#include "control_server.hpp"
#include "envoy/ack_poller.hpp"
#include "envoy/envoy_updates.hpp"
#include "envoy/supervisor.hpp"
#include "liveness/liveness_check.hpp"
#include "network/network_guard.hpp"
#include "request_intake.hpp"

#include <filesystem>
#include <string>

namespace kindlb::agent {

struct AgentOptions {
  std::filesystem::path state_directory;
  std::string control_socket;
  std::string admin_socket;
  std::string liveness_socket;
  EnvoyCommand envoy;
  /// How many endpoint files Envoy can watch: see envoy/update_batch.hpp.
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
  /// Report that something has changed in the network namespace.
  void network_changed() { guard_.changed(); }
  /// Report a child that was reaped: Envoy or, since this is pid 1, an orphan of `docker exec`.
  void child_exited(pid_t pid, int wait_status) { supervisor_.reaped(pid, wait_status); }

 private:
  void send_hello(ClientId client);
  void receive(ClientId client, std::string_view line);
  void receive(ClientId client, const protocol::Prepare& prepare);
  void receive(ClientId client, protocol::Apply apply);
  void write_state();
  core::Result<void> try_write_state();
  void broadcast_status(const std::string& text);

  void load_units();
  void stored_unit_checked(const std::string& unit, const AddressChecks::Problem& problem);
  void start_envoy();
  void envoy_started();
  void envoy_exited(const std::string& how);
  void envoy_hung(std::chrono::milliseconds waited);

  // In order of construction: each part is given only those above it.
  Loop& loop_;
  AgentOptions options_;
  ControlServer control_;
  Supervisor supervisor_;
  AddressChecks checks_;
  CommittedUnits units_;
  Requests requests_;
  UdpRules rules_;
  NetworkSync network_;
  NetworkGuard guard_;
  XdsPublisher xds_;
  AckPoller acks_;
  LivenessCheck liveness_;
  EnvoyUpdates updates_;
  RequestIntake intake_;
  Loop::TimerId write_again_ = 0;
  bool write_failing_ = false;
  std::size_t unchecked_units_ = 0;  ///< stored units whose address check has not finished
};

}  // namespace kindlb::agent
