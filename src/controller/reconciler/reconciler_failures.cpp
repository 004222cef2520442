// What the reconciler does about failures. Everything is retried with back-off, per Service, from
// 0.2 s up to 15 s (core::Backoff); a change of the Service or of the engine resets it. A failure
// is never repaired here: it is recorded, or forgotten so that the next plan tries again.
#include "jitter.hpp"
#include "kindlb/core/backoff.hpp"
#include "kindlb/core/recovery.hpp"
#include "kindlb/log/log.hpp"
#include "reconciler/reconciler.hpp"

#include <utility>

namespace kindlb::controller {

namespace {

constexpr std::chrono::seconds kConflictMemory{60};

}  // namespace

/// Carry out what core concludes from the proxy's answer.
void Reconciler::recover(const core::Service& service, Record& record, const core::Plan& plan,
                         const core::ProxyView& proxy) {
  auto recovery = core::recover(std::move(record.memory), {service, plan, proxy}, jitter());
  record.memory = std::move(recovery.memory);
  if (!recovery.warning.empty()) log::warn("{}: {}", service.key.text(), recovery.warning);
  if (!recovery.good_news.empty()) log::info("{}: {}", service.key.text(), recovery.good_news);
  for (const auto& address : recovery.conflicting)
    conflicting_addresses_.insert_or_assign(address, parts_.loop.now() + kConflictMemory);
  if (recovery.retry_later) retry_later(service, record);
  if (recovery.plan_again) plan_again(service.key, record.uid);
  if (recovery.retry_direct_after)
    parts_.loop.after(*recovery.retry_direct_after,
                      [this, key = service.key, uid = record.uid] { retry_direct_path(key, uid); });
}

void Reconciler::retry_direct_path(const core::ServiceKey& key, const std::string& uid) {
  auto* record = find_record(key);
  if (record == nullptr || record->uid != uid) return;
  const auto due = core::direct_retry_due(record->memory.path);
  if (!due) return;
  record->memory.path = *due;
  plan_again(key, uid);
}

/// Plan again with the proxy's failure forgotten: the planner does not send a rejected revision
/// twice by itself.
void Reconciler::plan_again(const core::ServiceKey& key, const std::string& uid) {
  parts_.fleet.forget_failure(uid);
  mark_dirty(key);
}

/// Keep one timer per Service, the earliest: the pass it triggers asks again for what is still to
/// come. A timer that was replaced finds another time in the record and does nothing.
void Reconciler::replan_after(const core::ServiceKey& key, Record& record,
                              std::chrono::milliseconds delay) {
  const auto when = parts_.loop.now() + delay;
  if (record.replan_at && *record.replan_at <= when) return;
  record.replan_at = when;
  parts_.loop.after(delay, [this, key, when] {
    auto* found = find_record(key);
    if (found == nullptr || found->replan_at != when) return;
    found->replan_at.reset();
    mark_dirty(key);
  });
}

std::chrono::milliseconds Reconciler::next_retry_delay(Record& record) {
  return core::delay_before(record.failures++, core::Backoff{}, jitter());
}

/// Plan again after the back-off, with the failure forgotten.
void Reconciler::retry_later(const core::Service& service, Record& record) {
  if (std::exchange(record.retry_scheduled, true)) return;
  parts_.loop.after(next_retry_delay(record), [this, key = service.key, uid = record.uid] {
    auto* again = find_record(key);
    if (again == nullptr || again->uid != uid) return;
    again->retry_scheduled = false;
    again->memory.trouble.reset();
    parts_.fleet.forget_failure(uid);
    mark_dirty(key);
  });
}

void Reconciler::claim_failed(const std::string& unit, const core::Error& why) {
  const auto found = key_by_unit_.find(unit);
  if (found == key_by_unit_.end()) return;
  auto* record = find_record(found->second);
  const auto cluster = clusters_.find(found->second.cluster);
  if (record == nullptr || cluster == clusters_.end()) return;
  const auto* service = cluster->second.store.service(found->second);
  if (service == nullptr) return;
  record->memory.trouble =
      core::Trouble{"No proxy could be started: " + why.operation + ": " + why.detail};
  log::warn("{}: {}", found->second.text(), record->memory.trouble->message);
  retry_later(*service, *record);
  mark_dirty(found->second);
}

/// Something changed at the engine that may have been the cause: do not wait for the back-off.
void Reconciler::retry_now() {
  conflicting_addresses_.clear();
  for (auto& [name, cluster] : clusters_)
    for (auto& [key, record] : cluster.records) {
      if (!record.memory.trouble && !record.retry_scheduled) continue;
      record.memory.trouble.reset();
      parts_.fleet.forget_failure(record.uid);
      mark_dirty(key);
    }
}

}  // namespace kindlb::controller
