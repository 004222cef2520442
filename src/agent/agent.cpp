#include "agent.hpp"

#include "kindlb/base/version.hpp"
#include "log.hpp"

#include <sys/stat.h>

namespace kindlb::agent {

using protocol::EnvoyState;
using protocol::RejectStage;

Agent::Agent(Loop& loop, Network network, AgentOptions options)
    : loop_(loop),
      network_(std::move(network)),
      options_(std::move(options)),
      store_(options_.state_directory / "units"),
      files_(options_.state_directory / "xds"),
      checks_(loop_, network_),
      admin_(loop_, options_.admin_socket),
      ack_poller_(loop_, admin_, history_),
      supervisor_(loop_, options_.envoy,
                  {.started = [this] { envoy_started(); },
                   .exited = [this](const std::string& how) { envoy_exited(how); }}),
      control_(loop_,
               {.connected = [this](ClientId client) { greet(client); },
                .line = [this](ClientId client, std::string_view line) { receive(client, line); },
                .overflowed =
                    [this](ClientId client) {
                      control_.send(client, protocol::Rejected{.text = "line too long"});
                    }}) {}

// Starting ---------------------------------------------------------------------------------------

core::Result<void> Agent::start() {
  // Envoy's uid must be able to pass through on its way to its files.
  ::chmod(options_.state_directory.c_str(), 0755);
  if (auto listening = control_.listen(options_.control_socket); !listening) return listening;
  if (!filter_.works()) log("the kernel cannot filter (nf_tables): Envoy does it for UDP, too");
  load_units();
  return {};
}

void Agent::load_units() {
  std::vector<std::string> problems;
  for (auto& unit : store_.load(problems)) {
    const auto name = unit.unit;
    held_[name] = {.unit = turned_over(std::move(unit))};
  }
  for (const auto& problem : problems) log(problem + "; skipped");
  unchecked_ = held_.size();
  if (held_.empty()) return begin_serving();
  std::vector<std::pair<std::string, std::vector<core::Cidr>>> wanted;
  for (const auto& [name, held] : held_) wanted.emplace_back(name, held.unit.addresses);
  for (const auto& [name, addresses] : wanted)
    checks_.check(addresses,
                  [this, name = name](const std::string& problem) { unit_checked(name, problem); });
}

void Agent::unit_checked(const std::string& unit, const std::string& problem) {
  const auto found = held_.find(unit);
  if (found != held_.end() && !problem.empty()) {
    found->second.withheld = true;
    log("not serving " + found->second.unit.owner + ": " + problem);
  }
  if (--unchecked_ == 0) begin_serving();
}

void Agent::begin_serving() {
  guard_stored();
  sync_network();
  history_ = {};
  history_.record(held_snapshot({}), 1);
  auto written = files_.reset();
  if (written) written = files_.write(changed_files(history_));
  if (!written) log(written.error().text());
  supervisor_.start();
}

void Agent::stop(const std::string& reason) {
  if (stopping_) return;
  stopping_ = true;
  log("ending: " + reason);
  control_.send_to_all(protocol::Bye{.reason = reason});
  supervisor_.stop();
}

// Envoy's life -----------------------------------------------------------------------------------

void Agent::envoy_started() {
  envoy_ = EnvoyState::Starting;
  write_state();
  tell_status("started");
  transaction_ = Transaction{.jobs = {}, .is_start = true};
  std::vector<protocol::Unit> units;
  for (const auto& [name, held] : held_)
    if (!held.withheld) units.push_back(held.unit);
  supervisor_.envoy_log().forget_rejections();
  ack_poller_.start(std::move(units), {},
                    [this](const auto& statuses, bool final) { judged(statuses, final); });
  transaction_->deadline = loop_.after(std::chrono::seconds(10), [this] { transaction_late(); });
}

void Agent::envoy_exited(const std::string& how) {
  ack_poller_.reset();
  envoy_ = EnvoyState::Down;
  for (auto& [name, held] : held_) held.acknowledged = false;
  write_state();
  if (stopping_) return loop_.stop();
  tell_status(how);
  if (transaction_) loop_.cancel(transaction_->deadline);
  const auto interrupted = transaction_ ? transaction_->jobs : std::vector<std::uint64_t>();
  transaction_.reset();
  for (const auto key : interrupted) {
    auto& job = jobs_.at(key);
    if (++job.crashes >= 2)
      reject(job, RejectStage::Down, "Envoy ended while applying this: " + how);
    requeue_alone(job);
  }
  forget_diverted();
  sync_network();
  write_snapshot(held_snapshot({}));
  pump();
}

// Messages ---------------------------------------------------------------------------------------

std::vector<protocol::UnitState> Agent::unit_states() const {
  std::vector<protocol::UnitState> out;
  for (const auto& [name, held] : held_)
    out.push_back({name, held.unit.owner, held.unit.revision, held.acknowledged,
                   held.unit.addresses, held.unit.clusters.size()});
  return out;
}

void Agent::write_state() {
  const protocol::AgentState state{base::version(), envoy_, unit_states(), options_.watch_limit};
  const auto written =
      replace_file(options_.state_directory / "state.json", protocol::encode_state(state), 0600);
  if (!written) log(written.error().text());
  const auto linked =
      replace_link(options_.state_directory / "summary", protocol::encode_summary(state));
  if (!linked) log(linked.error().text());
}

void Agent::tell_status(const std::string& text) {
  control_.send_to_all(protocol::Status{envoy_, supervisor_.restarts(), text, unit_states()});
}

void Agent::greet(ClientId client) {
  control_.send(client, protocol::Hello{protocol::kProtocolVersion, base::version(), envoy_,
                                     unit_states(), options_.watch_limit});
}

void Agent::receive(ClientId client, std::string_view line) {
  std::string why;
  auto message = protocol::decode(line, &why);
  if (!message) {
    // Unknown types are a newer kindlb's business; whoever waits for an answer gets one.
    if (const auto id = protocol::refused_id(line))
      control_.send(client, protocol::Rejected{.id = *id, .text = why});
    return;
  }
  if (auto* prepare = std::get_if<protocol::Prepare>(&*message)) receive(client, *prepare);
  if (auto* apply = std::get_if<protocol::Apply>(&*message)) receive(client, std::move(*apply));
  if (auto* release = std::get_if<protocol::Release>(&*message)) receive(client, *release);
}

void Agent::receive(ClientId client, const protocol::Prepare& prepare) {
  checks_.check(prepare.addresses, [this, client, id = prepare.id](const std::string& problem) {
    if (problem.empty())
      control_.send(client, protocol::Applied{.id = id});
    else
      control_.send(client,
                    protocol::Rejected{.id = id, .stage = RejectStage::Address, .text = problem});
  });
}

void Agent::receive(ClientId client, protocol::Apply apply) {
  const auto problem = invalid_reason(apply.unit);
  if (!problem.empty())
    return control_.send(client, protocol::Rejected{apply.id, apply.unit.unit, apply.unit.revision,
                                                    RejectStage::Invalid, problem});
  supersede(apply.unit.unit);
  auto& job = add_job(client, apply.id, turned_over(std::move(apply.unit)));
  job.probes = std::move(apply.probes);
  job.probe_timeout = apply.probe_timeout;
  checks_.check(job.unit.addresses,
                [this, key = job.key](const std::string& taken) { address_checked(key, taken); });
}

void Agent::receive(ClientId client, const protocol::Release& release) {
  supersede(release.unit);
  auto& job = add_job(client, release.id, {.unit = release.unit});
  job.is_release = true;
  job.stage = Job::Stage::Queued;
  pump();
}

void Agent::reject(Job& job, RejectStage stage, const std::string& text) {
  if (!job.answered)
    control_.send(job.client,
                  protocol::Rejected{job.id, job.unit.unit, job.unit.revision, stage, text});
  if (!job.answered && stage != RejectStage::Superseded)
    log("cannot serve " + job.unit.owner + ": " + text);
  job.answered = true;
}

void Agent::answer_applied(Job& job) {
  if (job.answered) return;
  job.answered = true;
  auto outcomes = job.probing ? job.probing->outcomes() : std::vector<protocol::ProbeOutcome>();
  control_.send(job.client,
                protocol::Applied{job.id, job.unit.unit, job.unit.revision, std::move(outcomes)});
}

}  // namespace kindlb::agent
