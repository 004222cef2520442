#include "reconciler/reconciler.hpp"

#include "kindlb/core/eligibility.hpp"
#include "kindlb/core/recovery.hpp"
#include "kindlb/log/log.hpp"

#include <algorithm>
#include <utility>

namespace kindlb::controller {

// ---- clusters ----------------------------------------------------------------------------------

void Reconciler::add_cluster(const std::string& name, const std::string& network,
                             std::shared_ptr<kube::Api> api) {
  auto& cluster = clusters_[name];
  cluster.network = network;
  cluster.api = std::move(api);
  parts_.networks.refresh(network);
}

void Reconciler::remove_cluster(const std::string& name) {
  const auto found = clusters_.find(name);
  if (found == clusters_.end()) return;
  for (const auto& [key, record] : found->second.records) {
    parts_.fleet.remove(record.uid);
    key_by_unit_.erase(record.uid);
  }
  clusters_.erase(found);
}

std::set<std::string> Reconciler::networks() const {
  std::set<std::string> out;
  for (const auto& [name, cluster] : clusters_) out.insert(cluster.network);
  return out;
}

void Reconciler::set_halted_nodes(const std::set<std::string>& names) {
  for (auto& [name, cluster] : clusters_)
    for (const auto& key : cluster.store.set_halted(names)) mark_dirty(key);
}

void Reconciler::set_nodes_running(const std::string& name, bool running) {
  const auto found = clusters_.find(name);
  if (found == clusters_.end() || found->second.nodes_running == running) return;
  found->second.nodes_running = running;
  for (const auto& [key, record] : found->second.records) mark_dirty(key);
}

void Reconciler::update(const std::string& name, const std::function<Store::Keys(Store&)>& edit) {
  const auto found = clusters_.find(name);
  if (found == clusters_.end()) return;
  auto& cluster = found->second;
  for (const auto& key : edit(cluster.store)) mark_dirty(key);
  if (!cluster.was_synced && cluster.store.synced()) {
    cluster.was_synced = true;
    log::info("cluster {}: synced, {} Services and {} nodes", name, cluster.store.services().size(),
              cluster.store.nodes().size());
    for (const auto& [key, service] : cluster.store.services()) mark_dirty(key);
    const bool all = std::all_of(clusters_.begin(), clusters_.end(),
                                 [](const auto& item) { return item.second.was_synced; });
    if (all) open_allocation();
    sweep_orphans();
  }
}

void Reconciler::open_allocation() {
  if (std::exchange(allocation_open_, true)) return;
  plan_all();
}

void Reconciler::plan_all() {
  for (const auto& [name, cluster] : clusters_)
    for (const auto& [key, service] : cluster.store.services()) mark_dirty(key);
  sweep_orphans();
}

void Reconciler::network_changed(const std::string& network) {
  for (const auto& [name, cluster] : clusters_)
    if (cluster.network == network)
      for (const auto& [key, record] : cluster.records) mark_dirty(key);
}

/// Remove proxies whose Service was deleted while kindlb did not run, or was replaced by another
/// one of the same name. Only in clusters whose Services are listed: before that, absence means
/// nothing.
void Reconciler::sweep_orphans() {
  if (!parts_.fleet.discovered()) return;
  for (const auto& held : parts_.fleet.held_units()) {
    const auto found = clusters_.find(protocol::cluster_of(held.owner));
    if (found == clusters_.end() || !found->second.store.synced()) continue;
    const auto& services = found->second.store.services();
    const bool wanted = std::any_of(services.begin(), services.end(), [&](const auto& item) {
      return item.second.uid == held.unit &&
             core::claim_of(item.second, parts_.policy) != core::Claim::NotOurs;
    });
    if (wanted) continue;
    log::info("{}: the Service no longer exists; removing its proxy", held.owner);
    parts_.fleet.remove(held.unit);
  }
}

// ---- the queue ---------------------------------------------------------------------------------

/// The first mark posts a run; those until then join it. Keys are a set, so a burst of events about
/// one Service costs one pass.
void Reconciler::mark_dirty(const core::ServiceKey& key) {
  pending_.insert(key);
  if (std::exchange(run_scheduled_, true)) return;
  parts_.loop.post([this] { reconcile_pending(); });
}

void Reconciler::reconcile_pending() {
  run_scheduled_ = false;
  for (const auto& key : std::exchange(pending_, {})) reconcile(key);
  if (allocation_open_ && parts_.fleet.discovered() && !std::exchange(logged_ready_, true)) {
    std::size_t ours = 0;
    for (const auto& [name, cluster] : clusters_) ours += cluster.records.size();
    log::info("managing {} Services", ours);
  }
}

void Reconciler::unit_changed(const std::string& unit) {
  if (const auto found = key_by_unit_.find(unit); found != key_by_unit_.end())
    mark_dirty(found->second);
}

Reconciler::Record* Reconciler::find_record(const core::ServiceKey& key) {
  const auto cluster = clusters_.find(key.cluster);
  if (cluster == clusters_.end()) return nullptr;
  const auto record = cluster->second.records.find(key);
  return record == cluster->second.records.end() ? nullptr : &record->second;
}

// ---- one Service -------------------------------------------------------------------------------

void Reconciler::reconcile(const core::ServiceKey& key) {
  const auto found = clusters_.find(key.cluster);
  if (found == clusters_.end()) return;
  auto& cluster = found->second;
  // Both plan everything again when they are ready, so the mark may be dropped here.
  if (!cluster.store.synced() || !parts_.fleet.discovered()) return;
  const auto* service = cluster.store.service(key);
  if (service == nullptr) return forget(cluster, key);

  const bool known = cluster.records.contains(key);
  if (!known && core::claim_of(*service, parts_.policy) == core::Claim::NotOurs) return;
  auto& record = record_of(cluster, *service);
  // The watch has not shown the effect of the release yet: planning from here would repeat it.
  if (record.releasing || record.released == service->resource_version) return;
  record.released.clear();
  const auto snapshot = take_snapshot(cluster, *service, record);
  carry_out(cluster, *service, record,
            draining_ ? core::plan_drain(snapshot) : core::plan_service(snapshot, parts_.policy));
}

/// Addresses became free: plan the Services without one, which may be waiting for them.
void Reconciler::replan_without_address(const std::string& network) {
  for (const auto& [name, cluster] : clusters_) {
    if (cluster.network != network) continue;
    for (const auto& [key, record] : cluster.records) {
      const auto* service = cluster.store.service(key);
      if (service != nullptr && service->status.ingress.empty()) mark_dirty(key);
    }
  }
}

void Reconciler::forget(Cluster& cluster, const core::ServiceKey& key) {
  const auto found = cluster.records.find(key);
  if (found == cluster.records.end()) return;
  if (!found->second.memory.reserved.empty()) replan_without_address(cluster.network);
  parts_.fleet.remove(found->second.uid);
  key_by_unit_.erase(found->second.uid);
  cluster.records.erase(found);
}

Reconciler::Record& Reconciler::record_of(Cluster& cluster, const core::Service& service) {
  if (const auto known = cluster.records.find(service.key);
      known != cluster.records.end() && known->second.uid != service.uid)
    forget(cluster, service.key);  // deleted and created again: nothing carries over
  auto& record = cluster.records[service.key];
  const auto hash = core::observed_hash(service, parts_.policy);
  if (record.uid.empty()) {
    record.uid = service.uid;
    key_by_unit_.insert_or_assign(service.uid, service.key);
  }
  if (record.hash != hash) {
    record.hash = hash;
    record.since = parts_.loop.now();
    record.memory.trouble.reset();
    record.failures = 0;
  }
  return record;
}

/// The order matters: reservations first, so that the next Service's plan sees them; then the
/// fleet, whose calls are idempotent; API writes last, and only one at a time. The plan is never
/// completed here: what it leads to is observed by the pass that its effects trigger.
void Reconciler::carry_out(Cluster& cluster, const core::Service& service, Record& record,
                           core::Plan plan) {
  if (plan.unreserve && !record.memory.reserved.empty()) replan_without_address(cluster.network);
  record.memory = core::remember(std::move(record.memory), plan);
  const auto proxy = parts_.fleet.view(record.uid);
  const ProxyRequest request{record.uid, service.key.text(), cluster.network,
                             core::watches_of(service)};
  const auto revision = plan.revision;
  if (plan.start_proxy) parts_.fleet.start(record.uid);
  if (!plan.prepare.empty()) parts_.fleet.prepare(request, plan.prepare);
  if (plan.claim) parts_.fleet.claim(request);
  if (plan.apply) parts_.fleet.apply(record.uid, *plan.apply, revision, plan.probes);
  if (plan.remove_proxy) parts_.fleet.remove(record.uid);
  if (plan.again) replan_after(service.key, record, *plan.again);
  recover(service, record, plan, proxy);
  if (plan.teardown != core::Teardown::None) {
    // A write under way would restore what the release removes; its end plans again.
    if (!record.writing) release(cluster, service, plan.teardown);
    return;
  }
  if (plan.write && !record.writing) write(cluster, service, std::move(plan));
}

// ---- leaving -----------------------------------------------------------------------------------

void Reconciler::drain() {
  draining_ = true;
  for (const auto& [name, cluster] : clusters_)
    for (const auto& [key, record] : cluster.records) mark_dirty(key);
}

bool Reconciler::drained() const {
  for (const auto& [name, cluster] : clusters_)
    for (const auto& [key, record] : cluster.records) {
      const auto* service = cluster.store.service(key);
      const auto proxy = parts_.fleet.view(record.uid);
      const bool ours = service != nullptr && core::was_ours(*service) && record.released.empty();
      if (ours || proxy.present || proxy.coming) return false;
    }
  return true;
}

}  // namespace kindlb::controller
