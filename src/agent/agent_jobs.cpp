// The agent's jobs: one per Apply or Release under way.
#include "agent.hpp"
#include "log.hpp"

#include <algorithm>

namespace kindlb::agent {

using protocol::RejectStage;

namespace {
constexpr std::chrono::seconds kJobLimit{10};
/// How often routes that are only kept for open connections are looked at again.
constexpr std::chrono::seconds kLingerCheck{2};
constexpr std::chrono::milliseconds kLongestProbe{60'000};
}  // namespace

Agent::Job& Agent::add_job(ClientId client, std::uint64_t id, protocol::Unit unit) {
  const auto key = ++last_job_;
  auto& job = jobs_[key];
  job.key = key;
  job.client = client;
  job.id = id;
  job.unit = std::move(unit);
  job.deadline = loop_.after(kJobLimit, [this, key] { out_of_time(key); });
  return job;
}

void Agent::supersede(const std::string& unit) {
  std::vector<std::uint64_t> over;
  for (auto& [key, job] : jobs_) {
    if (job.unit.unit != unit) continue;
    if (job.is_release)
      answer_applied(job);  // what follows replaces the snapshot anyway
    else
      reject(job, RejectStage::Superseded, "a newer message for this unit came in");
    if (job.stage != Job::Stage::Applying) over.push_back(key);
  }
  for (const auto key : over) end_job(key);
}

void Agent::end_job(std::uint64_t key) {
  const auto found = jobs_.find(key);
  if (found == jobs_.end()) return;
  auto& job = found->second;
  loop_.cancel(job.deadline);
  if (job.stage == Job::Stage::Applying) close(job.unit);
  jobs_.erase(found);
}

void Agent::address_checked(std::uint64_t key, const std::string& problem) {
  const auto found = jobs_.find(key);
  if (found == jobs_.end()) return;  // superseded meanwhile
  auto& job = found->second;
  if (!problem.empty()) {
    reject(job, RejectStage::Address, problem);
    end_job(key);
    return sync_network();  // what it superseded may have asked for something
  }
  job.stage = Job::Stage::Announcing;
  const auto desired = desired_network();
  const auto failed = [&](RejectStage stage, const core::Error& error) {
    reject(job, stage, error.operation + ": " + error.detail);
    end_job(key);
    sync_network();
  };
  const auto addresses = network_.add_addresses(desired);
  if (!addresses) return failed(RejectStage::Address, addresses.error());
  const auto routes = network_.add_routes(desired);
  if (!routes) return failed(RejectStage::Route, routes.error());
  // Before anybody listens.
  const auto rules = filter_.set(packet_rules());
  if (!rules) return failed(RejectStage::Filter, rules.error());
  loop_.after({}, [this] { network_ready(); });
}

/// For all jobs whose addresses came in this turn of the loop together: an announcement drops
/// packets that wait for a neighbour's answer, so none may follow the first probe.
void Agent::network_ready() {
  if (network_.announce()) checks_.restart();
  for (auto& [key, job] : jobs_) {
    if (job.stage != Job::Stage::Announcing) continue;
    job.stage = Job::Stage::Queued;
    begin_probing(job);
  }
  pump();
}

/// At once, while Envoy is still being told: an answer needs both.
void Agent::begin_probing(Job& job) {
  job.probing =
      std::make_unique<ProbeSet>(loop_, job.probes, std::min(job.probe_timeout, kLongestProbe),
                                 [this, key = job.key] { probes_changed(key); });
}

void Agent::probes_changed(std::uint64_t key) {
  const auto found = jobs_.find(key);
  if (found == jobs_.end()) return;
  auto& job = found->second;
  if (job.stage != Job::Stage::Probing || !job.probing || !job.probing->is_finished()) return;
  answer_applied(job);
  end_job(key);
}

/// It was tried, with others or before Envoy crashed, and is to be tried again by itself; unless
/// nobody waits for it any more.
void Agent::requeue_alone(Job& job) {
  if (job.answered) return end_job(job.key);
  job.stage = Job::Stage::Queued;
  job.alone = true;
  job.deadline = loop_.after(kJobLimit, [this, key = job.key] { out_of_time(key); });
}

/// Before Envoy was told; then the generation's deadline counts, and after it the probes' own.
void Agent::out_of_time(std::uint64_t key) {
  auto& job = jobs_.at(key);
  if (job.is_release) return commit_release(job);
  reject(job, RejectStage::Down, "Envoy was not ready in time");
  end_job(key);
  sync_network();
}

/// Units share routes: one stays until the last that wants it has gone. Where they do not agree (a
/// pod's address has moved to another node, and not all have been told), the newest word counts.
DesiredNetwork Agent::desired_network() const {
  DesiredNetwork desired;
  std::vector<const Held*> by_age;
  for (const auto& [name, held] : held_)
    if (!held.withheld) by_age.push_back(&held);
  std::stable_sort(by_age.begin(), by_age.end(),
                   [](const Held* a, const Held* b) { return a->since < b->since; });
  for (const auto* held : by_age) desired.add(held->unit.addresses, held->unit.routes);
  for (const auto& [key, job] : jobs_)
    if (job.stage == Job::Stage::Announcing || job.stage == Job::Stage::Queued ||
        job.stage == Job::Stage::Applying)
      desired.add(job.unit.addresses, job.unit.routes);
  return desired;
}

void Agent::sync_network() {
  const auto desired = desired_network();
  loop_.cancel(linger_);
  if (network_.remove_stale(desired))
    linger_ = loop_.after(kLingerCheck, [this] { sync_network(); });
  if (const auto added = network_.add_addresses(desired); !added) log(added.error().text());
  if (const auto added = network_.add_routes(desired); !added) log(added.error().text());
  if (const auto set = filter_.set(packet_rules()); !set) log(set.error().text());
  network_.announce();
}

}  // namespace kindlb::agent
