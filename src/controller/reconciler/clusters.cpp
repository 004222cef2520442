#include "reconciler/clusters.hpp"

#include "kindlb/core/assert.hpp"
#include "kindlb/core/eligibility.hpp"

#include <algorithm>
#include <utility>

namespace kindlb::controller {

// ---- clusters ----------------------------------------------------------------------------------

void Clusters::add(const std::string& name, const std::string& network,
                   std::shared_ptr<kube::Api> api) {
  auto& cluster = clusters_[name];
  cluster.network = network;
  cluster.api = std::move(api);
}

std::map<core::ServiceKey, ServiceRecord> Clusters::remove(const std::string& name) {
  auto removed = clusters_.extract(name);
  if (removed.empty()) return {};
  for (const auto& [key, record] : removed.mapped().records) key_by_unit_.erase(record.uid);
  return std::move(removed.mapped().records);
}

Cluster* Clusters::find(const std::string& name) {
  const auto found = clusters_.find(name);
  return found == clusters_.end() ? nullptr : &found->second;
}

std::set<std::string> Clusters::networks() const {
  std::set<std::string> out;
  for (const auto& [name, cluster] : clusters_) out.insert(cluster.network);
  return out;
}

bool Clusters::all_synced() const {
  return std::all_of(clusters_.begin(), clusters_.end(),
                     [](const auto& item) { return item.second.was_synced; });
}

Clusters::Keys Clusters::set_halted_nodes(const std::set<std::string>& names) {
  Keys out;
  for (auto& [name, cluster] : clusters_) out.merge(cluster.store.set_halted(names));
  return out;
}

// ---- Services ----------------------------------------------------------------------------------

void Clusters::store_answer(const core::Service& answer) {
  const auto* known = find_service(answer.key);
  if (known != nullptr && known->uid == answer.uid)
    clusters_.at(answer.key.cluster).store.put_service(answer);
}

void Clusters::expect_more_of(const std::string& name) {
  auto& cluster = clusters_.at(name);
  cluster.not_kept.clear();
  for (auto& [key, record] : cluster.records)
    if (record.memory.report) record.memory.report->retry = true;
}

const core::Service* Clusters::find_service(const core::ServiceKey& key) const {
  const auto cluster = clusters_.find(key.cluster);
  return cluster == clusters_.end() ? nullptr : cluster->second.store.service(key);
}

Clusters::Keys Clusters::service_keys() const {
  Keys out;
  for (const auto& [name, cluster] : clusters_)
    for (const auto& [key, service] : cluster.store.services()) out.insert(key);
  return out;
}

bool Clusters::is_orphan(const std::string& cluster, const std::string& uid,
                         const core::Policy& policy) const {
  const auto found = clusters_.find(cluster);
  if (found == clusters_.end() || !found->second.store.synced()) return false;
  const auto& services = found->second.store.services();
  return std::none_of(services.begin(), services.end(), [&](const auto& item) {
    return item.second.uid == uid && core::claim_of(item.second, policy) != core::Claim::NotOurs;
  });
}

// ---- records -----------------------------------------------------------------------------------

ServiceRecord& Clusters::record_of(const core::Service& service) {
  auto& record = clusters_.at(service.key.cluster).records[service.key];
  if (record.uid.empty()) {
    record.uid = service.uid;
    key_by_unit_.insert_or_assign(service.uid, service.key);
  }
  KINDLB_ASSERT(record.uid == service.uid);
  return record;
}

ServiceRecord* Clusters::find_record(const core::ServiceKey& key) {
  auto* cluster = find(key.cluster);
  if (cluster == nullptr) return nullptr;
  const auto found = cluster->records.find(key);
  return found == cluster->records.end() ? nullptr : &found->second;
}

ServiceRecord* Clusters::find_record(const core::ServiceKey& key, const std::string& uid) {
  auto* found = find_record(key);
  return found == nullptr || found->uid != uid ? nullptr : found;
}

std::optional<ServiceRecord> Clusters::forget(const core::ServiceKey& key) {
  auto* cluster = find(key.cluster);
  if (cluster == nullptr) return std::nullopt;
  auto removed = cluster->records.extract(key);
  if (removed.empty()) return std::nullopt;
  key_by_unit_.erase(removed.mapped().uid);
  return std::move(removed.mapped());
}

std::optional<core::ServiceKey> Clusters::key_of(const std::string& unit) const {
  const auto found = key_by_unit_.find(unit);
  return found == key_by_unit_.end() ? std::nullopt : std::optional(found->second);
}

std::size_t Clusters::record_count() const {
  std::size_t out = 0;
  for (const auto& [name, cluster] : clusters_) out += cluster.records.size();
  return out;
}

Clusters::Keys Clusters::record_keys() const {
  Keys out;
  for (const auto& network : networks()) out.merge(record_keys_on(network));
  return out;
}

Clusters::Keys Clusters::record_keys_on(const std::string& network) const {
  Keys out;
  for (const auto& [name, cluster] : clusters_)
    if (cluster.network == network)
      for (const auto& [key, record] : cluster.records) out.insert(key);
  return out;
}

Clusters::Keys Clusters::record_keys_without_address(const std::string& network) const {
  auto out = record_keys_on(network);
  std::erase_if(out, [&](const core::ServiceKey& key) {
    const auto* service = find_service(key);
    return service == nullptr || !service->status.ingress.empty();
  });
  return out;
}

}  // namespace kindlb::controller
