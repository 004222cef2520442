// What the reconciler is told: clusters that come and go, their objects, the fleet and the
// networks. Each only notes what changed and marks the Services concerned.
#include "kindlb/core/eligibility.hpp"
#include "kindlb/log/log.hpp"
#include "reconciler/reconciler.hpp"

#include <utility>

namespace kindlb::controller {

Reconciler::Reconciler(Parts parts)
    : parts_(std::move(parts)),
      queue_(parts_.loop, [this](const DirtyQueue::Keys& keys) { reconcile_all(keys); }),
      retries_(parts_.loop,
               [this](const core::ServiceKey& key, const std::string& uid) {
                 auto* record = clusters_.find_record(key, uid);
                 if (record == nullptr) return;
                 record->memory.trouble.reset();
                 plan_again(key, uid);
               }),
      writes_(parts_.loop, parts_.api_work, clusters_,
              {.written = [this](const core::Service& answer,
                                 const core::Plan& plan) { written(answer, plan); },
               .write_failed =
                   [this](const core::ServiceKey& key, const std::string& uid) {
                     queue_.mark_after(key, retries_.next_delay(uid));
                   },
               .released =
                   [this](const core::ServiceKey& key, const std::string& uid, bool ok) {
                     if (auto* record = clusters_.find_record(key, uid)) {
                       record->memory.reserved.clear();
                       record->memory.report.reset();
                     }
                     if (ok)
                       queue_.mark(key);
                     else
                       queue_.mark_after(key, retries_.next_delay(uid));
                   }}) {}

// ---- clusters ----------------------------------------------------------------------------------

void Reconciler::add_cluster(const std::string& name, const std::string& network,
                             std::shared_ptr<kube::Api> api) {
  clusters_.add(name, network, std::move(api));
  parts_.networks.refresh(network);
}

void Reconciler::remove_cluster(const std::string& name) {
  for (const auto& [key, record] : clusters_.remove(name)) {
    parts_.fleet.remove(record.uid);
    queue_.forget(key);
    retries_.forget(record.uid);
    writes_.forget(record.uid);
  }
}

void Reconciler::set_halted_nodes(const std::set<std::string>& names) {
  queue_.mark(clusters_.set_halted_nodes(names));
}

void Reconciler::set_nodes_running(const std::string& name, bool running) {
  auto* cluster = clusters_.find(name);
  if (cluster == nullptr || std::exchange(cluster->nodes_running, running) == running) return;
  for (const auto& [key, record] : cluster->records) queue_.mark(key);
}

void Reconciler::update(const std::string& name, const std::function<Store::Keys(Store&)>& edit) {
  auto* cluster = clusters_.find(name);
  if (cluster == nullptr) return;
  const auto& store = cluster->store;
  const auto lists = store.service_lists();
  queue_.mark(edit(cluster->store));
  if (store.service_lists() != lists) clusters_.expect_more_of(name);
  if (!store.synced() || std::exchange(cluster->was_synced, true)) return;
  log::info("cluster {}: synced, {} Services and {} nodes", name, store.services().size(),
            store.nodes().size());
  for (const auto& [key, service] : store.services()) queue_.mark(key);
  if (clusters_.all_synced()) open_allocation();
  sweep_orphans();
}

void Reconciler::open_allocation() {
  if (std::exchange(allocation_open_, true)) return;
  plan_all();
}

void Reconciler::plan_all() {
  queue_.mark(clusters_.service_keys());
  sweep_orphans();
}

/// Remove proxies whose Service was deleted while kindlb did not run, or was replaced by another
/// one of the same name.
void Reconciler::sweep_orphans() {
  if (!parts_.fleet.discovered()) return;
  for (const auto& held : parts_.fleet.held_units()) {
    if (!clusters_.is_orphan(protocol::cluster_of(held.owner), held.unit, parts_.policy)) continue;
    log::info("{}: the Service no longer exists; removing its proxy", held.owner);
    parts_.fleet.remove(held.unit);
  }
}

// ---- the fleet and the networks ----------------------------------------------------------------

void Reconciler::unit_changed(const std::string& unit) {
  if (const auto key = clusters_.key_of(unit)) queue_.mark(*key);
}

void Reconciler::network_changed(const std::string& network) {
  queue_.mark(clusters_.record_keys_on(network));
}

// ---- leaving -----------------------------------------------------------------------------------

void Reconciler::drain() {
  draining_ = true;
  queue_.mark(clusters_.record_keys());
}

bool Reconciler::drained() const {
  for (const auto& [name, cluster] : clusters_.all())
    for (const auto& [key, record] : cluster.records) {
      const auto* service = cluster.store.service(key);
      const auto proxy = parts_.fleet.view(record.uid);
      const bool ours =
          service != nullptr && core::was_ours(*service) && !writes_.was_released(record.uid);
      if (ours || proxy.present || proxy.coming) return false;
    }
  return true;
}

}  // namespace kindlb::controller
