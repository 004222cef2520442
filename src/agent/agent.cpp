#include "agent.hpp"

#include "kindlb/base/version.hpp"
#include "log.hpp"

#include <sys/stat.h>

namespace kindlb::agent {

using protocol::EnvoyState;
using protocol::RejectStage;

Agent::Agent(Loop& loop, Network& network, PacketFilter& filter, AgentOptions options)
    : loop_(loop),
      network_(network),
      filter_(filter),
      options_(std::move(options)),
      store_(options_.state_directory / "units"),
      files_(options_.state_directory / "xds"),
      checks_(loop_, network_),
      ack_poller_(loop_, options_.admin_socket, history_),
      supervisor_(loop_, options_.envoy,
                  {.started = [this] { envoy_started(); },
                   .exited = [this](const std::string& how) { envoy_exited(how); }}),
      control_(loop_,
               {.connected = [this](ClientId client) { send_hello(client); },
                .line = [this](ClientId client, std::string_view line) { receive(client, line); },
                .overflowed =
                    [this](ClientId client) {
                      control_.send(client, protocol::Rejected{
                                                .text = "the message exceeds the limit of 16 MiB"});
                    }}) {}

// Starting ---------------------------------------------------------------------------------------

core::Result<void> Agent::start() {
  // Envoy runs as another uid and must be able to traverse the directory to its files.
  ::chmod(options_.state_directory.c_str(), 0755);
  if (auto listening = control_.listen(options_.control_socket); !listening) return listening;
  if (!filter_.is_supported())
    log("the kernel cannot filter UDP (no nf_tables): Envoy does, and changes restart UDP "
        "sessions");
  load_units();
  return {};
}

/// Every stored unit is checked before Envoy starts: while the container was stopped, Docker may
/// have given its address to another container, and two hosts with one address harm both.
void Agent::load_units() {
  std::vector<std::string> problems;
  for (auto& unit : store_.load(problems)) {
    const auto name = unit.unit;
    units_[name] = {.unit = swap_listener_variants(std::move(unit))};
  }
  for (const auto& problem : problems) log("ignoring stored unit " + problem);
  unchecked_units_ = units_.size();
  if (units_.empty()) return start_envoy();
  std::vector<std::pair<std::string, std::vector<core::Cidr>>> wanted;
  for (const auto& [name, committed] : units_) wanted.emplace_back(name, committed.unit.addresses);
  for (const auto& [name, addresses] : wanted)
    checks_.check(addresses, [this, name = name](const AddressChecks::Problem& problem) {
      stored_unit_checked(name, problem);
    });
}

void Agent::stored_unit_checked(const std::string& unit, const AddressChecks::Problem& problem) {
  const auto found = units_.find(unit);
  if (found != units_.end() && problem) {
    found->second.suspended = true;
    log("not serving " + found->second.unit.owner + ": " + *problem);
  }
  if (--unchecked_units_ == 0) start_envoy();
}

/// The order matters: rules before the addresses that make ports reachable, addresses before the
/// listeners that bind to them, and the files before Envoy, which exits when one that its bootstrap
/// names is missing. Versions start at 1 with an empty history, since a new Envoy knows none.
void Agent::start_envoy() {
  install_stored_rules();
  sync_network();
  history_ = {};
  history_.record(committed_snapshot({}), 1);
  auto written = files_.reset();
  if (written) written = files_.write(changed_files(history_));
  if (!written) log(written.error().text());
  supervisor_.start();
}

void Agent::stop(const std::string& reason) {
  if (stopping_) return;
  stopping_ = true;
  log("stopping on " + reason);
  control_.send_to_all(protocol::Bye{.reason = reason});
  supervisor_.stop();
}

// Envoy's life cycle ------------------------------------------------------------------------------

/// A start is an update with every committed unit and no requests. The baseline for its statistics
/// is zero: the counters of a new Envoy start there.
void Agent::envoy_started() {
  envoy_ = EnvoyState::Starting;
  write_state();
  broadcast_status("started");
  update_ = PendingUpdate{.requests = {}, .is_start = true};
  std::vector<protocol::Unit> units;
  for (const auto& [name, committed] : units_)
    if (!committed.suspended) units.push_back(committed.unit);
  supervisor_.envoy_log().forget_rejections();
  ack_poller_.start(std::move(units), {},
                    [this](const auto& statuses, bool final) { acks_changed(statuses, final); });
  update_->deadline = loop_.after(std::chrono::seconds(10), [this] { update_timed_out(); });
}

/// Roll back to what is committed before the supervisor starts Envoy again: an uncommitted update
/// may be what crashed it. Requests of that update get a second attempt, each alone; one that is
/// there at two crashes is rejected, so that a single bad unit cannot keep Envoy crashing. The
/// sockets of the old Envoy are gone, and with them every reason to drain or quarantine.
void Agent::envoy_exited(const std::string& how) {
  ack_poller_.reset();
  envoy_ = EnvoyState::Down;
  for (auto& [name, committed] : units_) committed.acknowledged = false;
  write_state();
  if (stopping_) return loop_.stop();
  broadcast_status(how);
  if (update_) loop_.cancel(update_->deadline);
  const auto interrupted = update_ ? update_->requests : std::vector<std::uint64_t>();
  update_.reset();
  for (const auto key : interrupted) {
    auto& request = requests_.at(key);
    if (++request.crashes >= 2)
      reject(request, RejectStage::Down, "Envoy stopped while applying this configuration: " + how);
    requeue_alone(request);
  }
  forget_udp_state();
  sync_network();
  write_snapshot(committed_snapshot({}));
  start_next_update();
}

// Messages ---------------------------------------------------------------------------------------

std::vector<protocol::UnitState> Agent::unit_states() const {
  std::vector<protocol::UnitState> out;
  for (const auto& [name, committed] : units_)
    out.push_back({name, committed.unit.owner, committed.unit.revision, committed.acknowledged,
                   committed.unit.addresses, committed.unit.clusters.size()});
  return out;
}

/// Publish the state for a kindlb that starts later: as a file with everything, and the same as the
/// target of a symbolic link, which the Engine returns with a HEAD request on the path (see
/// protocol.hpp). Both are replaced by rename, so readers see old or new, never half. A state too
/// long for a link removes the link: no summary is better than a stale one.
void Agent::write_state() {
  const protocol::AgentState state{base::version(), envoy_, unit_states(), options_.watch_limit};
  const auto written =
      replace_file(options_.state_directory / "state.json", protocol::encode_state(state), 0600);
  if (!written) log(written.error().text());
  const auto linked =
      replace_link(options_.state_directory / "summary", protocol::encode_summary(state));
  if (!linked) log(linked.error().text());
}

void Agent::broadcast_status(const std::string& text) {
  control_.send_to_all(protocol::Status{envoy_, supervisor_.restarts(), text, unit_states()});
}

void Agent::send_hello(ClientId client) {
  control_.send(client, protocol::Hello{protocol::kProtocolVersion, base::version(), envoy_,
                                        unit_states(), options_.watch_limit});
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
  if (auto* release = std::get_if<protocol::Release>(&*message)) receive(client, *release);
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

/// The newest message for a unit wins: what it supersedes is answered at once, before the new
/// request can change anything.
void Agent::receive(ClientId client, protocol::Apply apply) {
  const auto problem = invalid_reason(apply.unit);
  if (!problem.empty())
    return control_.send(client, protocol::Rejected{apply.id, apply.unit.unit, apply.unit.revision,
                                                    RejectStage::Invalid, problem});
  supersede(apply.unit.unit);
  auto& request = add_request(client, apply.id, swap_listener_variants(std::move(apply.unit)));
  request.probes = std::move(apply.probes);
  request.probe_timeout = apply.probe_timeout;
  checks_.check(request.unit.addresses,
                [this, key = request.key](const AddressChecks::Problem& taken) {
                  address_checked(key, taken);
                });
}

/// A Release needs no address check and touches no network before Envoy has let go of the
/// listeners.
void Agent::receive(ClientId client, const protocol::Release& release) {
  supersede(release.unit);
  auto& request = add_request(client, release.id, {.unit = release.unit});
  request.is_release = true;
  request.stage = Request::Stage::Queued;
  start_next_update();
}

void Agent::reject(Request& request, RejectStage stage, const std::string& text) {
  if (!request.answered)
    control_.send(request.client, protocol::Rejected{request.id, request.unit.unit,
                                                     request.unit.revision, stage, text});
  if (!request.answered && stage != RejectStage::Superseded)
    log("cannot serve " + request.unit.owner + ": " + text);
  request.answered = true;
}

void Agent::answer_applied(Request& request) {
  if (request.answered) return;
  request.answered = true;
  auto outcomes =
      request.probing ? request.probing->outcomes() : std::vector<protocol::ProbeOutcome>();
  control_.send(request.client, protocol::Applied{request.id, request.unit.unit,
                                                  request.unit.revision, std::move(outcomes)});
}

}  // namespace kindlb::agent
