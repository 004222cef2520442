#include "agent.hpp"

#include "kindlb/base/version.hpp"
#include "liveness/liveness_listener.hpp"
#include "log.hpp"

#include <sys/stat.h>

namespace kindlb::agent {

using protocol::RejectStage;

namespace {
constexpr std::chrono::seconds kWriteAgain{5};
}  // namespace

Agent::Agent(Loop& loop, Network& network, PacketFilter& filter, AgentOptions options)
    : loop_(loop),
      options_(std::move(options)),
      control_(loop_,
               {.connected = [this](ClientId client) { send_hello(client); },
                .line = [this](ClientId client, std::string_view line) { receive(client, line); },
                .overflowed =
                    [this](ClientId client) {
                      control_.send(client, protocol::Rejected{
                                                .text = "the message exceeds the limit of 16 MiB"});
                    }}),
      supervisor_(loop_, options_.envoy,
                  {.started = [this] { envoy_started(); },
                   .exited = [this](const std::string& how) { envoy_exited(how); }}),
      checks_(loop_, network),
      units_(UnitStore(options_.state_directory / "units"), filter.is_supported()),
      requests_(
          loop_,
          {.answer = [this](ClientId client,
                            const protocol::Message& message) { control_.send(client, message); },
           .timed_out = [this](RequestKey key) { updates_.request_timed_out(key); },
           .refused =
               [this](const protocol::Unit& unit) {
                 const auto* committed = units_.find(unit.unit);
                 rules_.quarantine(unit, committed == nullptr ? nullptr : &committed->unit);
               }}),
      rules_(loop_, filter, [this] { updates_.remove_drained(); }),
      network_(loop_, network, rules_,
               [this] {
                 return WantedUnits{units_.served(), requests_.installed()};
               }),
      guard_(loop_, {.network = network, .filter = filter, .checks = checks_, .sync = network_},
             [this] {
               broadcast_status(guard_.problem().empty() ? "the network is whole again"
                                                         : guard_.problem());
             }),
      xds_(XdsFiles(options_.state_directory / "xds"), liveness_listener()),
      acks_(loop_, options_.admin_socket, xds_.history()),
      liveness_(loop_, options_.liveness_socket,
                {.threads = [this] { return read_threads(supervisor_.pid()); },
                 .hung = [this](std::chrono::milliseconds waited) { envoy_hung(waited); }}),
      updates_(loop_, acks_, options_.watch_limit,
               {.units = units_,
                .requests = requests_,
                .rules = rules_,
                .network = network_,
                .xds = xds_,
                .log = supervisor_.envoy_log()},
               {.read_log = [this] { supervisor_.drain_log(); },
                .units_changed = [this] { write_state(); },
                .live =
                    [this] {
                      if (xds_.is_own_accepted()) liveness_.start();
                      write_state();
                      broadcast_status("ready");
                    },
                .own_listener_accepted = [this] { liveness_.start(); }}),
      intake_(loop_, requests_, checks_, network_, [this] { updates_.start_next(); }) {}

// Starting ---------------------------------------------------------------------------------------

core::Result<void> Agent::start() {
  // Envoy runs as another uid and must be able to traverse the directory to its files.
  ::chmod(options_.state_directory.c_str(), 0755);
  if (auto listening = control_.listen(options_.control_socket); !listening) return listening;
  if (!rules_.is_supported())
    log("the kernel cannot filter UDP (no nf_tables): Envoy does, and changes restart UDP "
        "sessions");
  load_units();
  return {};
}

/// Every stored unit is checked before Envoy starts: while the container was stopped, Docker may
/// have given its address to another container, and two hosts with one address harm both.
void Agent::load_units() {
  units_.load();
  const auto addresses = units_.addresses();
  unchecked_units_ = addresses.size();
  if (addresses.empty()) return start_envoy();
  for (const auto& [name, wanted] : addresses)
    checks_.check(wanted, [this, name = name](const AddressChecks::Problem& problem) {
      stored_unit_checked(name, problem);
    });
}

void Agent::stored_unit_checked(const std::string& unit, const AddressChecks::Problem& problem) {
  if (problem) units_.suspend(unit, *problem);
  if (--unchecked_units_ == 0) start_envoy();
}

/// The order matters: rules before the addresses that make ports reachable, addresses before the
/// listeners that bind to them, and the files before Envoy. If the kernel refuses the rules, units
/// that need them are suspended: a port that must be filtered is not opened without a filter.
void Agent::start_envoy() {
  if (const auto set = network_.install_rules(); !set) units_.suspend_filtered(set.error().text());
  network_.sync();
  xds_.start(units_.snapshot());
  supervisor_.start();
}

void Agent::stop(const std::string& reason) {
  if (updates_.is_stopped()) return;
  updates_.stop();
  log("stopping on " + reason);
  control_.send_to_all(protocol::Bye{.reason = reason});
  supervisor_.stop();
}

// Envoy's life cycle ------------------------------------------------------------------------------

void Agent::envoy_started() {
  updates_.envoy_started();
  write_state();
  broadcast_status("started");
}

/// What is committed is put in place before the supervisor starts Envoy again, which takes at least
/// one turn of the loop.
void Agent::envoy_exited(const std::string& how) {
  liveness_.stop();
  updates_.envoy_exited();
  write_state();
  if (updates_.is_stopped()) return loop_.stop();
  broadcast_status(how);
  updates_.recover(how);
}

void Agent::envoy_hung(std::chrono::milliseconds waited) {
  const auto tenths = (waited.count() + 50) / 100;
  supervisor_.replace("Envoy did not answer for " + std::to_string(tenths / 10) + "." +
                      std::to_string(tenths % 10) + " s and was replaced");
}

// Messages ---------------------------------------------------------------------------------------

/// Publish the state for a kindlb that starts later: as a file with everything, and the same as the
/// target of a symbolic link, which the Engine returns with a HEAD request on the path (see
/// protocol.hpp). Both are replaced by rename, so readers see old or new, never half. A state too
/// long for a link removes the link: no summary is better than a stale one. What cannot be written,
/// since the volume is full, is written as soon as it can.
void Agent::write_state() {
  loop_.cancel(write_again_);
  const auto written = try_write_state();
  if (!written && !write_failing_) log(written.error().text());
  write_failing_ = !written;
  if (written && units_.store_missing()) return;
  write_again_ = loop_.after(kWriteAgain, [this] { write_state(); });
}

core::Result<void> Agent::try_write_state() {
  const protocol::AgentState state{base::version(), updates_.state(), units_.states(),
                                   options_.watch_limit};
  auto linked = replace_link(options_.state_directory / "summary", protocol::encode_summary(state));
  auto written =
      replace_file(options_.state_directory / "state.json", protocol::encode_state(state), 0600);
  return written ? linked : written;
}

void Agent::broadcast_status(const std::string& text) {
  control_.send_to_all(protocol::Status{updates_.state(), supervisor_.restarts(), text,
                                        units_.states(), guard_.problem()});
}

void Agent::send_hello(ClientId client) {
  control_.send(client, protocol::Hello{protocol::kProtocolVersion, base::version(),
                                        updates_.state(), units_.states(), options_.watch_limit,
                                        protocol::kHeartbeatInterval, guard_.problem()});
}

void Agent::receive(ClientId client, std::string_view line) {
  std::string why;
  auto message = protocol::decode(line, &why);
  if (!message) {
    // A newer kindlb may send types this agent does not know: ignored. A known type with content
    // that cannot be decoded has a sender waiting for its answer.
    if (const auto id = protocol::refused_id(line))
      control_.send(client, protocol::Rejected{.id = *id, .text = why});
    return;
  }
  if (auto* prepare = std::get_if<protocol::Prepare>(&*message)) receive(client, *prepare);
  if (auto* apply = std::get_if<protocol::Apply>(&*message)) receive(client, std::move(*apply));
  if (auto* release = std::get_if<protocol::Release>(&*message)) intake_.accept(client, *release);
}

void Agent::receive(ClientId client, const protocol::Prepare& prepare) {
  checks_.check(
      prepare.addresses, [this, client, id = prepare.id](const AddressChecks::Problem& problem) {
        if (problem)
          control_.send(client, protocol::Rejected{
                                    .id = id, .stage = RejectStage::Address, .text = *problem});
        else
          control_.send(client, protocol::Applied{.id = id});
      });
}

void Agent::receive(ClientId client, protocol::Apply apply) {
  const auto problem = invalid_reason(apply.unit);
  if (!problem.empty())
    return control_.send(client, protocol::Rejected{apply.id, apply.unit.unit, apply.unit.revision,
                                                    RejectStage::Invalid, problem});
  if (rules_.is_supported()) apply.unit = swap_listener_variants(std::move(apply.unit));
  intake_.accept(client, std::move(apply));
}

}  // namespace kindlb::agent
