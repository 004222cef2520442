#include "reconciler/reconciler.hpp"

#include "jitter.hpp"
#include "kindlb/core/eligibility.hpp"
#include "kindlb/core/recovery.hpp"
#include "kindlb/log/log.hpp"
#include "reconciler/service_snapshot.hpp"

#include <chrono>
#include <utility>

namespace kindlb::controller {

// ---- one Service -------------------------------------------------------------------------------

void Reconciler::reconcile_all(const DirtyQueue::Keys& keys) {
  for (const auto& key : keys) reconcile(key);
  if (allocation_open_ && parts_.fleet.discovered() && !std::exchange(logged_ready_, true))
    log::info("managing {} Services", clusters_.record_count());
}

void Reconciler::reconcile(const core::ServiceKey& key) {
  const auto* cluster = clusters_.find(key.cluster);
  // Both plan everything again when they are ready, so the mark may be dropped here.
  if (cluster == nullptr || !cluster->store.synced() || !parts_.fleet.discovered()) return;
  const auto* service = cluster->store.service(key);
  if (service == nullptr) return forget(key);

  const bool known = cluster->records.contains(key);
  if (!known && core::claim_of(*service, parts_.policy) == core::Claim::NotOurs) return;
  auto& record = record_of(*service);
  if (writes_.awaits_release(*service)) return;
  const auto snapshot = snapshot_of(*cluster, *service, record);
  carry_out(*cluster, *service, record, snapshot,
            draining_ ? core::plan_drain(snapshot) : core::plan_service(snapshot, parts_.policy));
}

core::ServiceSnapshot Reconciler::snapshot_of(const Cluster& cluster, const core::Service& service,
                                              const ServiceRecord& record) const {
  const SnapshotSources sources{
      .clusters = clusters_,
      .fleet = parts_.fleet,
      .networks = parts_.networks,
      .conflicts = conflicts_,
      .policy = parts_.policy,
      .now = parts_.loop.now(),
      .wall_time = std::chrono::floor<std::chrono::seconds>(parts_.clock.wall()),
      .may_allocate = allocation_open_};
  return take_snapshot(sources, cluster, service, record);
}

/// A Service that was deleted and created again, or changed, begins anew: failures of its former
/// self mean nothing.
ServiceRecord& Reconciler::record_of(const core::Service& service) {
  const auto* known = clusters_.find_record(service.key);
  if (known != nullptr && known->uid != service.uid) forget(service.key);
  auto& record = clusters_.record_of(service);
  auto hash = core::observed_hash(service, parts_.policy);
  if (record.hash != hash) {
    record.hash = std::move(hash);
    record.since = parts_.loop.now();
    record.memory.trouble.reset();
    retries_.reset(record.uid);
  }
  return record;
}

void Reconciler::forget(const core::ServiceKey& key) {
  const auto* cluster = clusters_.find(key.cluster);
  const auto gone = clusters_.forget(key);
  if (!gone) return;
  // Its addresses became free, and another Service may wait for them.
  if (!gone->memory.reserved.empty())
    queue_.mark(clusters_.record_keys_without_address(cluster->network));
  parts_.fleet.remove(gone->uid);
  queue_.forget(key);
  retries_.forget(gone->uid);
  writes_.forget(gone->uid);
}

/// The order matters: reservations first, so that the next Service's plan sees them; then the
/// fleet, whose calls are idempotent; API writes last, and only one at a time. The plan is never
/// completed here: what it leads to is observed by the pass that its effects trigger.
void Reconciler::carry_out(const Cluster& cluster, const core::Service& service,
                           ServiceRecord& record, const core::ServiceSnapshot& snapshot,
                           core::Plan plan) {
  if (plan.unreserve && !record.memory.reserved.empty())
    queue_.mark(clusters_.record_keys_without_address(cluster.network));
  // Events that cannot be taken now are planned again from what was reported before.
  const bool told = plan.write || plan.events.empty() ||
                    writes_.tell(cluster.api, service, std::exchange(plan.events, {}));
  if (!told) plan.report.reset();
  record.memory = core::remember(std::move(record.memory), plan);
  drive_fleet(cluster, service, plan);
  if (plan.again) queue_.mark_after(service.key, *plan.again);
  recover(service, record, plan, snapshot.proxy);
  if (plan.teardown != core::Teardown::None)
    writes_.release(cluster.api, service, plan.teardown);
  else if (plan.write)
    write(cluster, service, record, std::move(plan));
}

void Reconciler::write(const Cluster& cluster, const core::Service& service,
                       const ServiceRecord& record, core::Plan plan) {
  const auto wait = record.rewrites.wait(*plan.write, parts_.loop.now());
  if (wait.count() > 0)
    queue_.mark_after(service.key, wait);
  else
    writes_.write(cluster.api, service, std::move(plan));
}

void Reconciler::written(const core::Service& answer, const core::Plan& plan) {
  if (auto* record = clusters_.find_record(answer.key, answer.uid)) {
    record->memory = core::remember_answer(std::move(record->memory), plan, answer);
    record->rewrites.accepted(*plan.write, parts_.loop.now(), jitter());
  }
  note_not_kept(answer, *plan.write);
  if (plan.report && core::is_served(plan.report->meant.conditions)) retries_.reset(answer.uid);
  queue_.mark(answer.key);
}

/// Say once per cluster what its server does not keep: people look for it in the status.
void Reconciler::note_not_kept(const core::Service& answer, const core::StatusApply& sent) {
  auto* cluster = clusters_.find(answer.key.cluster);
  auto missing = core::not_kept(sent, core::owned_fields(answer));
  if (cluster == nullptr || missing.empty() || cluster->not_kept == missing) return;
  log::warn("cluster {}: the API server did not keep {} of what was written to {}",
            answer.key.cluster, missing, answer.key.text());
  cluster->not_kept = std::move(missing);
}

void Reconciler::drive_fleet(const Cluster& cluster, const core::Service& service,
                             const core::Plan& plan) {
  auto& fleet = parts_.fleet;
  const ProxyRequest request{service.uid, service.key.text(), cluster.network,
                             core::watches_of(service)};
  if (plan.start_proxy) fleet.start(service.uid);
  if (!plan.prepare.empty()) fleet.prepare(request, plan.prepare);
  if (plan.claim) fleet.claim(request);
  if (plan.apply) fleet.apply(service.uid, *plan.apply, plan.revision, plan.probes);
  if (plan.remove_proxy) fleet.remove(service.uid);
}

// ---- failures ----------------------------------------------------------------------------------

void Reconciler::recover(const core::Service& service, ServiceRecord& record,
                         const core::Plan& plan, const core::ProxyView& proxy) {
  auto recovery = core::recover(std::move(record.memory), {service, plan, proxy}, jitter());
  record.memory = std::move(recovery.memory);
  if (!recovery.warning.empty()) log::warn("{}: {}", service.key.text(), recovery.warning);
  if (!recovery.good_news.empty()) log::info("{}: {}", service.key.text(), recovery.good_news);
  conflicts_.note(recovery.conflicting, parts_.loop.now());
  if (recovery.retry_later) retries_.schedule(service.key, record.uid);
  if (recovery.plan_again) plan_again(service.key, record.uid);
  if (recovery.retry_direct_after)
    parts_.loop.after(*recovery.retry_direct_after,
                      [this, key = service.key, uid = record.uid] { retry_direct_path(key, uid); });
}

void Reconciler::retry_direct_path(const core::ServiceKey& key, const std::string& uid) {
  auto* record = clusters_.find_record(key, uid);
  const auto due = record == nullptr ? std::nullopt : core::direct_retry_due(record->memory.path);
  if (!due) return;
  record->memory.path = *due;
  plan_again(key, uid);
}

/// Plan again with the proxy's failure forgotten: the planner does not send a rejected revision
/// twice by itself.
void Reconciler::plan_again(const core::ServiceKey& key, const std::string& uid) {
  parts_.fleet.forget_failure(uid);
  queue_.mark(key);
}

void Reconciler::claim_failed(const std::string& unit, const core::Error& why) {
  const auto key = clusters_.key_of(unit);
  if (!key || clusters_.find_service(*key) == nullptr) return;
  auto& trouble = clusters_.find_record(*key)->memory.trouble;
  trouble = core::Trouble{"No proxy could be started: " + why.operation + ": " + why.detail};
  log::warn("{}: {}", key->text(), trouble->message);
  retries_.schedule(*key, unit);
  queue_.mark(*key);
}

/// Something changed at the engine that may have been the cause: do not wait for the back-off.
void Reconciler::retry_now() {
  conflicts_.clear();
  for (const auto& key : clusters_.record_keys()) {
    auto& record = *clusters_.find_record(key);
    if (!record.memory.trouble && !retries_.scheduled(record.uid)) continue;
    record.memory.trouble.reset();
    plan_again(key, record.uid);
  }
}

}  // namespace kindlb::controller
