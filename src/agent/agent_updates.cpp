// Updates of Envoy: a snapshot is written to its files, the admin interface is polled until Envoy
// has decided, and the requests of the update are committed or rejected.
//
// Invariants
// - One update at a time (`update_`). start_next_update is called whenever that may have changed.
// - The files always hold committed_snapshot with the requests of the pending update in the place
//   of their predecessors, plus draining listeners. After an update that was not accepted whole,
//   apply_committed writes an update that takes the rejected content out again.
// - `history_` changes only after the files have been written: it is what AckPoller compares with
//   what Envoy reports, and must not run ahead of the files nor change while a poll runs.
// - UDP rules are installed before the files are written and removed after Envoy's ACK: see
//   agent_udp_rules.cpp.
#include "agent.hpp"
#include "log.hpp"

#include <algorithm>

namespace kindlb::agent {

using protocol::EnvoyState;
using protocol::RejectStage;

namespace {

constexpr std::chrono::seconds kAckTimeout{10};
/// For updates without a request, which only take content out: no client waits for them, and the
/// next request should not either.
constexpr std::chrono::seconds kRollbackTimeout{2};

std::string serving_line(const protocol::Unit& unit) {
  std::string addresses;
  for (const auto& address : unit.addresses)
    addresses += (addresses.empty() ? "" : ", ") + address.address.text();
  const auto ports = unit.listeners.size();
  return "serving " + unit.owner + " at " + addresses + " (" + std::to_string(ports) +
         (ports == 1 ? " listener)" : " listeners)");
}

bool any_not_acked(const AckStatuses& statuses) {
  return std::any_of(statuses.begin(), statuses.end(),
                     [](const auto& entry) { return entry.second.kind != AckStatus::Kind::Acked; });
}

}  // namespace

/// Start an update with the queued requests, unless one is pending or Envoy is not live.
void Agent::start_next_update() {
  if (update_ || stopping_) return;
  if (envoy_ != EnvoyState::Live) {
    // An Envoy that does not run has no listeners to remove: releases are carried out at once.
    // Applies wait, each with its own deadline, until Envoy is live again.
    std::vector<std::uint64_t> releases;
    for (const auto& [key, request] : requests_)
      if (request.is_release) releases.push_back(key);
    for (const auto key : releases) commit_release(requests_.at(key));
    if (!releases.empty() && unchecked_units_ == 0) write_snapshot(committed_snapshot({}));
    return;
  }
  // A batch whose requests are all rejected beforehand starts no update: take the next one.
  while (!update_) {
    const auto batch = next_batch();
    if (batch.empty()) return;
    start_update(batch);
  }
}

/// Return the queued requests that can share an update, in order of arrival: as many as the watch
/// limit allows. One that exceeds the limit by itself is returned alone, to be rejected. A request
/// that must be alone is.
std::vector<std::uint64_t> Agent::next_batch() {
  std::vector<std::uint64_t> batch;
  for (const auto& [key, request] : requests_) {
    if (request.stage != Request::Stage::Queued) continue;
    if (request.alone && !batch.empty()) continue;
    batch.push_back(key);
    if (batch.size() > 1 && !watch_limit_problem(batch).empty()) {
      batch.pop_back();
      break;
    }
    if (request.alone) break;
  }
  return batch;
}

/// Return why the batch would exceed the watch limit, or nothing. Envoy aborts (RELEASE_ASSERT)
/// when inotify_init fails, so this must be known in advance. While a cluster is replaced, the old
/// one and the warming one each watch an endpoint file: a changed cluster counts twice.
std::string Agent::watch_limit_problem(const std::vector<std::uint64_t>& batch) const {
  const auto& clusters = history_.snapshot().clusters;
  std::size_t more = 0;
  for (const auto key : batch)
    for (const auto& cluster : requests_.at(key).unit.clusters) {
      const auto former = clusters.find(cluster.name);
      if (former == clusters.end() || former->second != cluster.body) ++more;
    }
  const auto watched = clusters.size() + more;
  if (more == 0 || watched <= options_.watch_limit) return {};
  return "Envoy would have to watch " + std::to_string(watched) +
         " endpoint files, but the kernel allows " + std::to_string(options_.watch_limit) +
         "; raise the sysctl fs.inotify.max_user_instances on the Docker host";
}

/// Return what the committed units contribute, without those that the given requests replace.
XdsSnapshot Agent::committed_snapshot(const std::vector<std::uint64_t>& except) const {
  XdsSnapshot snapshot;
  for (const auto& [name, committed] : units_) {
    const auto is_it = [&, &unit = name](std::uint64_t key) {
      return requests_.at(key).unit.unit == unit;
    };
    const bool replaced = std::any_of(except.begin(), except.end(), is_it);
    std::string conflict;
    if (!replaced && !committed.suspended && !add_unit(snapshot, committed.unit, conflict))
      log("not serving " + committed.unit.owner + ": " + conflict + " is used by another Service");
  }
  return snapshot;
}

/// Reject the requests that cannot be in a snapshot (too many files, or a resource name that
/// another unit uses) and return the others.
std::vector<std::uint64_t> Agent::reject_unacceptable(const std::vector<std::uint64_t>& batch) {
  auto snapshot = committed_snapshot(batch);
  std::vector<std::uint64_t> requests;
  for (const auto key : batch) {
    auto& request = requests_.at(key);
    auto problem = batch.size() == 1 ? watch_limit_problem(batch) : std::string();
    std::string conflict;
    auto with_request = snapshot;
    if (!add_unit(with_request, request.unit, conflict))
      problem = conflict + " is used by another Service";
    if (problem.empty()) {
      snapshot = std::move(with_request);
      requests.push_back(key);
      continue;
    }
    reject(request, RejectStage::Invalid, problem);
    end_request(key);
  }
  if (requests.size() < batch.size()) sync_network();
  return requests;
}

void Agent::start_update(const std::vector<std::uint64_t>& batch) {
  auto requests = reject_unacceptable(batch);
  if (requests.empty()) return;
  // Computed again: the predecessor of a rejected request stays.
  auto snapshot = committed_snapshot(requests);
  for (const auto key : requests) {
    auto& request = requests_.at(key);
    std::string conflict;
    if (!add_unit(snapshot, request.unit, conflict))
      log("not serving " + request.unit.owner + ": " + conflict + " is used by another Service");
    request.stage = Request::Stage::Applying;
    loop_.cancel(request.deadline);
    start_draining(request);
    free_ports_for(request.unit);
  }
  snapshot = with_draining(std::move(snapshot));
  const auto failed = [&](RejectStage stage, const std::string& why) {
    for (const auto key : requests) {
      auto& request = requests_.at(key);
      reject(request, stage, why);
      request.stage = Request::Stage::Queued;  // Envoy has not seen it: nothing to quarantine
      end_request(key);
    }
    sync_network();
  };
  if (const auto set = filter_.set(packet_rules()); !set)
    return failed(RejectStage::Filter, set.error().text());
  supervisor_.drain_log();
  supervisor_.envoy_log().forget_rejections();
  const bool changed = snapshot != history_.snapshot();
  if (changed && !write_snapshot(snapshot))
    return failed(RejectStage::Down,
                  "cannot write Envoy's configuration files; see the log of the proxy container");
  await_acks(std::move(requests), changed);
}

/// Write the files that differ, as the next version. False: no file was replaced, and `history_`
/// still tells what Envoy reads.
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

void Agent::await_acks(std::vector<std::uint64_t> requests, bool changed) {
  std::vector<protocol::Unit> units;
  for (const auto key : requests)
    if (!requests_.at(key).is_release) units.push_back(requests_.at(key).unit);
  // If the files did not change, Envoy's counters will not move either: compare with zero, so that
  // its decision about the same content counts.
  const auto before = changed ? ack_poller_.latest() : AdminStats();
  const auto limit = requests.empty() ? kRollbackTimeout : kAckTimeout;
  update_ = PendingUpdate{.requests = std::move(requests)};
  update_->deadline = loop_.after(limit, [this] { update_timed_out(); });
  ack_poller_.start(std::move(units), before,
                    [this](const auto& statuses, bool final) { acks_changed(statuses, final); });
}

/// Commit units as soon as Envoy serves them, although others of the update are still warming. Only
/// an update in which everything was ACKed proves that Envoy has closed what the snapshot lacks.
void Agent::acks_changed(const AckStatuses& statuses, bool final) {
  if (final) {
    if (!any_not_acked(statuses)) lift_quarantine();
    return update_processed(statuses);
  }
  if (update_->is_start) return;
  const auto taken = std::erase_if(update_->requests, [&](std::uint64_t key) {
    auto& request = requests_.at(key);
    const auto found = statuses.find(request.unit.unit);
    if (found == statuses.end() || found->second.kind != AckStatus::Kind::Acked) return false;
    commit(request);
    return true;
  });
  if (taken > 0) write_state();
}

/// Envoy has decided about everything. A NACK in a shared update rejects no request yet: one
/// unknown field makes Envoy reject a whole file, so it does not tell which unit is at fault, and
/// each request is tried again alone. Endpoint files are deleted only now, when no cluster that
/// Envoy knows watches them any more.
void Agent::update_processed(const AckStatuses& statuses) {
  const auto update = *update_;
  update_.reset();
  loop_.cancel(update.deadline);
  supervisor_.drain_log();
  files_.prune(history_.snapshot());
  if (update.is_start) {
    envoy_live(statuses);
    return start_next_update();
  }
  const bool refused = any_not_acked(statuses);
  if (refused && update.requests.size() > 1) {
    retry_separately(update.requests);
  } else {
    for (const auto key : update.requests) conclude(requests_.at(key), statuses);
    if (!update.requests.empty()) write_state();
  }
  if (refused) apply_committed();
  start_next_update();
}

void Agent::retry_separately(const std::vector<std::uint64_t>& requests) {
  for (const auto key : requests) requeue_alone(requests_.at(key));
}

/// Commit or reject a request after Envoy's decision. Listeners carry their error in the config
/// dump; for clusters and endpoints the only place is Envoy's log.
void Agent::conclude(Request& request, const AckStatuses& statuses) {
  if (request.is_release) return commit_release(request);
  const auto found = statuses.find(request.unit.unit);
  const auto status = found == statuses.end() ? AckStatus() : found->second;
  if (status.kind == AckStatus::Kind::Acked) return commit(request);
  auto text = status.text;
  if (text.empty()) text = supervisor_.envoy_log().reason_for(request.unit);
  if (text.empty())
    text =
        "Envoy rejected the configuration and gave no reason; see the log of the proxy container";
  reject(request, RejectStage::Envoy, text);
  end_request(request.key);
  sync_network();
}

/// Envoy serves the unit: make it the committed one, store it and switch the UDP redirections over.
/// The stored form is the one kindlb sent (swap_listener_variants undoes itself), since after a
/// restart the kernel may support other rules. The request lives on until its probes have ended.
void Agent::commit(Request& request) {
  auto& committed = units_[request.unit.unit];
  const bool same_resources = committed.unit.listeners == request.unit.listeners &&
                              committed.unit.addresses == request.unit.addresses;
  schedule_drain_end(committed.unit, request.unit);
  committed = {.unit = request.unit, .acknowledged = true, .committed_by = request.key};
  if (!same_resources) log(serving_line(request.unit));
  if (const auto saved = store_.save(swap_listener_variants(request.unit)); !saved)
    log(saved.error().text());
  request.stage = Request::Stage::Probing;
  const auto key = request.key;
  sync_network();
  if (request.answered) return end_request(key);
  probes_changed(key);
}

/// Addresses and routes go only now, after Envoy has closed the listeners bound to them.
void Agent::commit_release(Request& request) {
  const auto found = units_.find(request.unit.unit);
  if (found != units_.end()) {
    log("released " + found->second.unit.owner);
    lift_quarantine(found->second.unit);
    units_.erase(found);
  }
  store_.remove(request.unit.unit);
  answer_applied(request);
  end_request(request.key);
  sync_network();
  write_state();
}

/// Write the committed content, in an update without requests. It does nothing if the files say so
/// already; then Envoy has nothing else, and no port needs to stay filtered.
void Agent::apply_committed() {
  if (update_) return;
  const auto snapshot = with_draining(committed_snapshot({}));
  if (snapshot == history_.snapshot()) return lift_quarantine();
  if (write_snapshot(snapshot)) await_acks({}, true);
}

/// Envoy has not decided within the limit: a cluster warms for ever, or the admin interface does
/// not answer. At start, wait longer while Envoy is not live, then go on with what is known.
/// Otherwise requests are rejected as Down, releases carried out, and the committed content is
/// written again.
void Agent::update_timed_out() {
  if (!update_) return;
  if (update_->is_start && !ack_poller_.latest().live) {
    log("still waiting for Envoy to become ready");
    update_->deadline = loop_.after(kAckTimeout, [this] { update_timed_out(); });
    return;
  }
  const auto statuses = ack_poller_.statuses();
  ack_poller_.stop();
  if (update_->is_start || update_->requests.empty()) return update_processed(statuses);
  const auto update = *update_;
  update_.reset();
  loop_.cancel(update.deadline);
  for (const auto key : update.requests) {
    auto& request = requests_.at(key);
    if (request.is_release) {
      commit_release(request);
      continue;
    }
    reject(request, RejectStage::Down,
           "Envoy neither accepted nor rejected the configuration within " +
               std::to_string(kAckTimeout.count()) + " s");
    end_request(key);
  }
  sync_network();
  apply_committed();
  start_next_update();
}

/// Envoy has started and decided about the committed units. One that it does not accept any more
/// stays committed but unacknowledged: kindlb sees that in Status and applies the unit again.
void Agent::envoy_live(const AckStatuses& statuses) {
  envoy_ = EnvoyState::Live;
  for (auto& [name, committed] : units_) {
    const auto found = statuses.find(name);
    committed.acknowledged =
        found != statuses.end() && found->second.kind == AckStatus::Kind::Acked;
    if (committed.acknowledged)
      log(serving_line(committed.unit));
    else if (!committed.suspended)
      log("not serving " + committed.unit.owner + ": " +
          (found != statuses.end() && !found->second.text.empty()
               ? found->second.text
               : supervisor_.envoy_log().reason_for(committed.unit)));
  }
  if (units_.empty()) log("Envoy is ready");
  write_state();
  broadcast_status("ready");
}

}  // namespace kindlb::agent
