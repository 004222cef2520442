// The agent's generations: what Envoy is told, and what comes of it.
#include "agent.hpp"
#include "log.hpp"

#include <algorithm>

namespace kindlb::agent {

using protocol::EnvoyState;
using protocol::RejectStage;

namespace {

constexpr std::chrono::seconds kConfirmLimit{10};
/// Withdrawing must not hold up others for long.
constexpr std::chrono::seconds kRestoreLimit{2};

std::string serving_line(const protocol::Unit& unit) {
  std::string addresses;
  for (const auto& address : unit.addresses)
    addresses += (addresses.empty() ? "" : ", ") + address.address.text();
  const auto ports = unit.listeners.size();
  return "serving " + unit.owner + " at " + addresses + " (" + std::to_string(ports) +
         (ports == 1 ? " listener)" : " listeners)");
}

bool any_not_acked(const AckPoller::AckStatuses& statuses) {
  return std::any_of(statuses.begin(), statuses.end(),
                     [](const auto& entry) { return entry.second.kind != AckStatus::Kind::Acked; });
}

}  // namespace

/// Gives Envoy the next generation if it is free and there is something to tell.
void Agent::pump() {
  if (transaction_ || stopping_) return;
  if (envoy_ != EnvoyState::Live) {
    // Nobody to ask: taking away needs no consent. What is to be served waits for Envoy.
    std::vector<std::uint64_t> releases;
    for (const auto& [key, job] : jobs_)
      if (job.is_release) releases.push_back(key);
    for (const auto key : releases) commit_release(jobs_.at(key));
    if (!releases.empty() && unchecked_ == 0) write_snapshot(held_snapshot({}));
    return;
  }
  // Until Envoy has something to decide about: what is refused beforehand is no reason to wait.
  while (!transaction_) {
    const auto batch = next_batch();
    if (batch.empty()) return;
    begin(batch);
  }
}

/// As many as may go together. One that does not even fit by itself is given alone: it is refused.
std::vector<std::uint64_t> Agent::next_batch() {
  std::vector<std::uint64_t> batch;
  for (const auto& [key, job] : jobs_) {
    if (job.stage != Job::Stage::Queued) continue;
    if (job.alone && !batch.empty()) continue;
    batch.push_back(key);
    if (batch.size() > 1 && !overload(batch).empty()) {
      batch.pop_back();
      break;
    }
    if (job.alone) break;
  }
  return batch;
}

/// What Envoy would say if it did not abort. While clusters are exchanged it watches the files of
/// the old and of the new ones.
std::string Agent::overload(const std::vector<std::uint64_t>& batch) const {
  const auto& clusters = history_.snapshot().clusters;
  std::size_t more = 0;
  for (const auto key : batch)
    for (const auto& cluster : jobs_.at(key).unit.clusters) {
      const auto former = clusters.find(cluster.name);
      if (former == clusters.end() || former->second != cluster.body) ++more;
    }
  const auto watched = clusters.size() + more;
  if (more == 0 || watched <= options_.watch_limit) return {};
  return "Envoy would have to watch " + std::to_string(watched) + " endpoint files and can watch " +
         std::to_string(options_.watch_limit) + " (fs.inotify.max_user_instances)";
}

/// What the held units want, without those the jobs replace.
XdsSnapshot Agent::held_snapshot(const std::vector<std::uint64_t>& except) const {
  XdsSnapshot snapshot;
  for (const auto& [name, held] : held_) {
    const auto is_it = [&, &unit = name](std::uint64_t key) {
      return jobs_.at(key).unit.unit == unit;
    };
    const bool replaced = std::any_of(except.begin(), except.end(), is_it);
    std::string clash;
    if (!replaced && !held.withheld && !add_unit(snapshot, held.unit, clash))
      log(held.unit.owner + ": " + clash + " belongs to another unit");
  }
  return snapshot;
}

/// Those of a batch that Envoy can be asked for. The others are refused.
std::vector<std::uint64_t> Agent::admit(const std::vector<std::uint64_t>& batch) {
  auto snapshot = held_snapshot(batch);
  std::vector<std::uint64_t> jobs;
  for (const auto key : batch) {
    auto& job = jobs_.at(key);
    auto problem = batch.size() == 1 ? overload(batch) : std::string();
    std::string clash;
    auto with_job = snapshot;
    if (!add_unit(with_job, job.unit, clash)) problem = clash + " belongs to another unit";
    if (problem.empty()) {
      snapshot = std::move(with_job);
      jobs.push_back(key);
      continue;
    }
    reject(job, RejectStage::Invalid, problem);
    end_job(key);
  }
  if (jobs.size() < batch.size()) sync_network();
  return jobs;
}

void Agent::begin(const std::vector<std::uint64_t>& batch) {
  auto jobs = admit(batch);
  if (jobs.empty()) return;
  // What a refused one was to replace is in there, too.
  auto snapshot = held_snapshot(jobs);
  for (const auto key : jobs) {
    auto& job = jobs_.at(key);
    std::string clash;
    if (!add_unit(snapshot, job.unit, clash)) log(job.unit.owner + ": " + clash + " is not free");
    job.stage = Job::Stage::Applying;
    loop_.cancel(job.deadline);
    keep_diverted(job);
    make_way(job.unit);
  }
  snapshot = with_leaving(std::move(snapshot));
  const auto failed = [&](RejectStage stage, const std::string& why) {
    for (const auto key : jobs) {
      auto& job = jobs_.at(key);
      reject(job, stage, why);
      job.stage = Job::Stage::Queued;  // Envoy knows nothing of it
      end_job(key);
    }
    sync_network();
  };
  if (const auto set = filter_.set(packet_rules()); !set)
    return failed(RejectStage::Filter, set.error().text());
  supervisor_.drain_log();
  supervisor_.envoy_log().forget_rejections();
  const bool changed = snapshot != history_.snapshot();
  if (changed && !write_snapshot(snapshot))
    return failed(RejectStage::Down, "cannot write Envoy's configuration");
  confirm(std::move(jobs), changed);
}

bool Agent::write_snapshot(const XdsSnapshot& snapshot) {
  if (snapshot == history_.snapshot()) return true;
  const auto next = history_.version() + 1;
  auto history = history_;
  history.record(snapshot, next);
  if (const auto written = files_.write(changed_files(history)); !written) {
    log(written.error().text());
    return false;
  }
  history_ = std::move(history);
  return true;
}

void Agent::confirm(std::vector<std::uint64_t> jobs, bool changed) {
  std::vector<protocol::Unit> units;
  for (const auto key : jobs)
    if (!jobs_.at(key).is_release) units.push_back(jobs_.at(key).unit);
  // Without a change nothing new will happen: any former decision counts.
  const auto before = changed ? ack_poller_.latest() : AdminStats();
  const auto limit = jobs.empty() ? kRestoreLimit : kConfirmLimit;
  transaction_ = Transaction{.jobs = std::move(jobs)};
  transaction_->deadline = loop_.after(limit, [this] { transaction_late(); });
  ack_poller_.start(std::move(units), before,
                    [this](const auto& statuses, bool final) { judged(statuses, final); });
}

/// What Envoy has taken is served at once, although others of the generation are still warming.
void Agent::judged(const AckPoller::AckStatuses& statuses, bool final) {
  if (final) {
    if (!any_not_acked(statuses)) forget_closed();
    return confirmed(statuses);
  }
  if (transaction_->is_start) return;
  const auto taken = std::erase_if(transaction_->jobs, [&](std::uint64_t key) {
    auto& job = jobs_.at(key);
    const auto found = statuses.find(job.unit.unit);
    if (found == statuses.end() || found->second.kind != AckStatus::Kind::Acked) return false;
    commit(job);
    return true;
  });
  if (taken > 0) write_state();
}

void Agent::confirmed(const AckPoller::AckStatuses& statuses) {
  const auto transaction = *transaction_;
  transaction_.reset();
  loop_.cancel(transaction.deadline);
  supervisor_.drain_log();
  files_.prune(history_.snapshot());
  if (transaction.is_start) {
    envoy_live(statuses);
    return pump();
  }
  const bool refused = any_not_acked(statuses);
  if (refused && transaction.jobs.size() > 1) {
    split(transaction.jobs);
  } else {
    for (const auto key : transaction.jobs) settle(jobs_.at(key), statuses);
    if (!transaction.jobs.empty()) write_state();
  }
  if (refused) restore();
  pump();
}

/// Envoy refused something of a shared generation: each is tried again by itself.
void Agent::split(const std::vector<std::uint64_t>& jobs) {
  for (const auto key : jobs) requeue_alone(jobs_.at(key));
}

void Agent::settle(Job& job, const AckPoller::AckStatuses& statuses) {
  if (job.is_release) return commit_release(job);
  const auto found = statuses.find(job.unit.unit);
  const auto status = found == statuses.end() ? AckStatus() : found->second;
  if (status.kind == AckStatus::Kind::Acked) return commit(job);
  auto text = status.text;
  if (text.empty()) text = supervisor_.envoy_log().reason_for(job.unit);
  if (text.empty()) text = "Envoy refused the configuration without a reason";
  reject(job, RejectStage::Envoy, text);
  end_job(job.key);
  sync_network();
}

void Agent::commit(Job& job) {
  auto& held = held_[job.unit.unit];
  const bool same_resources =
      held.unit.listeners == job.unit.listeners && held.unit.addresses == job.unit.addresses;
  end_diversions(held.unit, job.unit);
  held = {.unit = job.unit, .acknowledged = true, .since = job.key};
  if (!same_resources) log(serving_line(job.unit));
  if (const auto saved = store_.save(turned_over(job.unit)); !saved) log(saved.error().text());
  job.stage = Job::Stage::Probing;
  const auto key = job.key;
  sync_network();
  if (job.answered) return end_job(key);
  probes_changed(key);
}

void Agent::commit_release(Job& job) {
  const auto found = held_.find(job.unit.unit);
  if (found != held_.end()) {
    log("released " + found->second.unit.owner);
    forget_closed(found->second.unit);
    held_.erase(found);
  }
  store_.remove(job.unit.unit);
  answer_applied(job);
  end_job(job.key);
  sync_network();
  write_state();
}

/// Puts back what the held units want, as a generation of its own.
void Agent::restore() {
  if (transaction_) return;
  const auto snapshot = with_leaving(held_snapshot({}));
  if (snapshot == history_.snapshot()) return forget_closed();
  if (write_snapshot(snapshot)) confirm({}, true);
}

void Agent::transaction_late() {
  if (!transaction_) return;
  if (transaction_->is_start && !ack_poller_.latest().live) {
    log("Envoy is not ready yet");
    transaction_->deadline = loop_.after(kConfirmLimit, [this] { transaction_late(); });
    return;
  }
  const auto statuses = ack_poller_.statuses();
  ack_poller_.stop();
  if (transaction_->is_start || transaction_->jobs.empty()) return confirmed(statuses);
  const auto transaction = *transaction_;
  transaction_.reset();
  loop_.cancel(transaction.deadline);
  for (const auto key : transaction.jobs) {
    auto& job = jobs_.at(key);
    if (job.is_release) {
      commit_release(job);
      continue;
    }
    reject(job, RejectStage::Down, "Envoy did not decide in time");
    end_job(key);
  }
  sync_network();
  restore();
  pump();
}

void Agent::envoy_live(const AckPoller::AckStatuses& statuses) {
  envoy_ = EnvoyState::Live;
  for (auto& [name, held] : held_) {
    const auto found = statuses.find(name);
    held.acknowledged = found != statuses.end() && found->second.kind == AckStatus::Kind::Acked;
    if (held.acknowledged)
      log(serving_line(held.unit));
    else if (!held.withheld)
      log("not serving " + held.unit.owner + ": " +
          (found != statuses.end() && !found->second.text.empty()
               ? found->second.text
               : supervisor_.envoy_log().reason_for(held.unit)));
  }
  if (held_.empty()) log("Envoy is ready");
  write_state();
  tell_status("ready");
}

}  // namespace kindlb::agent
