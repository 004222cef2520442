// What the reconciler does about failures. Everything is retried with back-off, per Service, from
// 0.2 s up to 15 s (core::Backoff); a change of the Service or of the engine resets it. A failure
// is never repaired here: it is recorded, or forgotten so that the next plan tries again.
#include "jitter.hpp"
#include "kindlb/core/backoff.hpp"
#include "kindlb/log/log.hpp"
#include "reconciler/reconciler.hpp"

#include <algorithm>
#include <utility>

namespace kindlb::controller {

namespace {

constexpr std::chrono::seconds kConflictMemory{60};
constexpr core::Backoff kDirectPathRetryBackoff{std::chrono::seconds(10), std::chrono::minutes(5)};

}  // namespace

/// React to what the proxy reports. In this order: an address that another host uses (choose
/// another), a rejected configuration (retry), pods that do not answer directly (fall back to node
/// ports, if the plan allows it), or not at all (retry). A Service that serves is left alone: an
/// endpoint that stops answering is no failure of the load balancer.
void Reconciler::handle_failures(const core::Service& service, Record& record,
                                 const core::Plan& plan, const core::ProxyView& proxy) {
  if (!proxy.present || plan.apply || proxy.live == false) return;
  if (proxy.address_refused && give_up_conflicting_addresses(service, record)) {
    log::warn("{}: {}; choosing another address", service.key.text(), proxy.rejection);
    parts_.fleet.forget_failure(record.uid);
    return;
  }
  if (!proxy.rejection.empty()) return retry_later(service, record);
  const bool serving = core::is_true(service.status.conditions, core::kServingCondition);
  if (proxy.reach != core::Reach::Unreachable || serving) return;
  if (plan.may_fall_back && !record.direct_blocked) {
    log::warn("{}: pods cannot be reached directly ({}); falling back to node ports",
              service.key.text(), proxy.reach_detail);
    record.direct_blocked = true;
    record.direct_proven = false;
    parts_.fleet.forget_failure(record.uid);
    return;
  }
  retry_later(service, record);
}

/// Another host answers for an address that was chosen. Addresses in the status are kept, because
/// clients know them (docs/contract.md §2: same IP). Return whether any other was given up.
bool Reconciler::give_up_conflicting_addresses(const core::Service& service, Record& record) {
  std::vector<core::IpAddress> kept;
  bool any = false;
  for (const auto& address : record.reserved) {
    const auto reported = core::reported_addresses(service, address.family());
    if (std::find(reported.begin(), reported.end(), address) != reported.end()) {
      kept.push_back(address);
      continue;
    }
    conflicting_addresses_.insert_or_assign(address, parts_.loop.now() + kConflictMemory);
    any = true;
  }
  record.reserved = std::move(kept);
  return any;
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

/// Plan again after the back-off, with the failure forgotten: the planner does not send a rejected
/// revision twice by itself.
void Reconciler::retry_later(const core::Service& service, Record& record) {
  if (std::exchange(record.retry_scheduled, true)) return;
  parts_.loop.after(next_retry_delay(record), [this, key = service.key, uid = record.uid] {
    auto* again = find_record(key);
    if (again == nullptr || again->uid != uid) return;
    again->retry_scheduled = false;
    again->trouble.reset();
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
  record->trouble =
      core::Trouble{"No proxy could be started: " + why.operation + ": " + why.detail};
  log::warn("{}: {}", found->second.text(), record->trouble->message);
  retry_later(*service, *record);
  mark_dirty(found->second);
}

/// Something changed at the engine that may have been the cause: do not wait for the back-off.
void Reconciler::retry_now() {
  conflicting_addresses_.clear();
  for (auto& [name, cluster] : clusters_)
    for (auto& [key, record] : cluster.records) {
      if (!record.trouble && !record.retry_scheduled) continue;
      record.trouble.reset();
      parts_.fleet.forget_failure(record.uid);
      mark_dirty(key);
    }
}

/// A Service that fell back to node ports probes the direct path once in a while, with back-off.
/// The proxy gets the routes and probes of the direct path beside the node ports it serves, and the
/// Service moves only after a pod has answered, so that a retry never interrupts traffic.
void Reconciler::retry_direct_path(const core::Service& service, Record& record,
                                   const core::Plan& plan, const core::ProxyView& proxy) {
  if (!plan.on_fallback) {
    record.direct_path_retry = DirectPathRetry::Idle;
    record.direct_path_retries = 0;
    return;
  }
  if (record.direct_path_retry == DirectPathRetry::Idle) {
    record.direct_path_retry = DirectPathRetry::Waiting;
    const auto delay =
        core::delay_before(record.direct_path_retries++, kDirectPathRetryBackoff, jitter());
    parts_.loop.after(delay, [this, key = service.key, uid = record.uid] {
      auto* again = find_record(key);
      if (again == nullptr || again->uid != uid ||
          again->direct_path_retry != DirectPathRetry::Waiting)
        return;
      again->direct_path_retry = DirectPathRetry::Due;
      parts_.fleet.forget_failure(uid);
      mark_dirty(key);
    });
    return;
  }
  if (record.direct_path_retry != DirectPathRetry::Due || !plan.direct_retried ||
      proxy.reach == core::Reach::Unknown)
    return;
  record.direct_path_retry = DirectPathRetry::Idle;
  if (proxy.reach != core::Reach::Unreachable) {
    log::info("{}: pods can be reached directly again; no longer using node ports",
              service.key.text());
    record.direct_blocked = false;
    record.direct_proven = true;
  }
  parts_.fleet.forget_failure(record.uid);
  mark_dirty(service.key);
}

}  // namespace kindlb::controller
