// The reconciler's API writes: status, Events, release. Each runs on the executor; its end marks
// the Service dirty. A write that fails is not repeated as it is: the Service is planned again
// after the back-off, because what is right may have changed.
#include "background.hpp"
#include "kindlb/log/log.hpp"
#include "reconciler/reconciler.hpp"

#include <utility>

namespace kindlb::controller {

namespace {

/// Events are for people: one that cannot be written is not worth a retry.
void emit(kube::Api& api, const core::Service& about, const core::EventNote& note) {
  if (const auto sent = api.emit(about, note); !sent.ok())
    log::debug("{}: cannot write the Event: {}", about.key.text(), sent.error().text());
}

}  // namespace

void Reconciler::write(Cluster& cluster, const core::Service& service, core::Plan plan) {
  cluster.records.at(service.key).writing = true;
  for (const auto& event : plan.events) {
    const auto level = event.type == core::EventType::Warning ? log::Level::Warn : log::Level::Info;
    log::write(level, "{}: {}: {}", service.key.text(), event.reason, event.message);
  }
  // Events follow the write they are about, and nothing waits for them.
  parts_.api_work.submit([this, api = cluster.api, key = service.key, plan = std::move(plan)] {
    auto result = std::make_shared<core::Result<core::Service>>(api->apply_status(*plan.write));
    parts_.loop.post([this, key, uid = plan.write->uid, result] { written(key, uid, *result); });
    if (!result->ok()) return;
    for (const auto& event : plan.events) emit(*api, **result, event);
  });
}

void Reconciler::written(const core::ServiceKey& key, const std::string& uid,
                         const core::Result<core::Service>& result) {
  auto* record = find_record(key);
  if (record == nullptr || record->uid != uid) return;
  record->writing = false;
  log::debug("{}: status {}", key.text(), result.ok() ? "written" : "could not be written");
  if (result.ok()) return store_answer(*record, *result);
  // Deleted meanwhile: the watch will say so.
  if (result.error().kind == core::ErrorKind::NotFound) return;
  log::warn("{}: cannot write the status: {}", key.text(), result.error().text());
  replan_after(key, *record, next_retry_delay(*record));
}

/// Put the API server's answer into the store, unless the watch was faster and has seen the Service
/// deleted or replaced. The store itself ignores an answer older than what it knows.
void Reconciler::store_answer(Record& record, const core::Service& answer) {
  auto& store = clusters_.at(answer.key.cluster).store;
  const auto* known = store.service(answer.key);
  if (known != nullptr && known->uid == answer.uid) store.put_service(answer);
  if (core::is_served(answer.status.conditions)) record.failures = 0;
  mark_dirty(answer.key);
}

void Reconciler::release(Cluster& cluster, const core::Service& service, core::Teardown teardown) {
  cluster.records.at(service.key).releasing = true;
  const kube::ReleasePatch patch{service.key, service.uid, teardown == core::Teardown::TakeBack};
  log::info("{}: releasing the Service", service.key.text());
  const auto work = [api = cluster.api, about = service, patch] {
    // Before the finalizer goes: afterwards the object that the Event is about may be gone.
    emit(*api, about, {core::EventType::Normal, "Deleted", "The load balancer has been removed."});
    return api->release(patch);
  };
  run_then(parts_.api_work, parts_.loop, work,
           [this, about = service](const auto& result) { released(about, result); });
}

void Reconciler::released(const core::Service& about, const core::Result<void>& result) {
  auto* record = find_record(about.key);
  if (record == nullptr || record->uid != about.uid) return;
  record->releasing = false;
  record->memory.reserved.clear();
  if (result.ok()) {
    record->released = about.resource_version;  // until the watch shows a newer one
    return mark_dirty(about.key);
  }
  log::warn("{}: cannot release the Service: {}", about.key.text(), result.error().text());
  replan_after(about.key, *record, next_retry_delay(*record));
}

}  // namespace kindlb::controller
