#include "reconciler/service_writes.hpp"

#include "background.hpp"
#include "kindlb/log/log.hpp"

#include <utility>

namespace kindlb::controller {

namespace {

/// Events are for people: one that cannot be written is not worth a retry.
void emit(kube::Api& api, const core::Service& about, const core::EventNote& note) {
  if (const auto sent = api.emit(about, note); !sent.ok())
    log::debug("{}: cannot write the Event: {}", about.key.text(), sent.error().text());
}

void log_events(const core::ServiceKey& key, const std::vector<core::EventNote>& events) {
  for (const auto& event : events) {
    const auto level = event.type == core::EventType::Warning ? log::Level::Warn : log::Level::Info;
    log::write(level, "{}: {}: {}", key.text(), event.reason, event.message);
  }
}

}  // namespace

ServiceWrites::State* ServiceWrites::find(const std::string& uid) {
  const auto found = states_.find(uid);
  return found == states_.end() ? nullptr : &found->second;
}

void ServiceWrites::write(std::shared_ptr<kube::Api> api, const core::Service& service,
                          core::Plan plan) {
  auto& state = states_[service.uid];
  if (state.releasing || std::exchange(state.writing, true)) return;
  log_events(service.key, plan.events);
  // Events follow the write they are about, and only later Events wait for them: the next write
  // cannot begin before `written`, and finds the mutex taken.
  executor_.submit([this, api = std::move(api), key = service.key,
                    plan = std::make_shared<const core::Plan>(std::move(plan)),
                    emitting = state.emitting] {
    auto result = std::make_shared<core::Result<core::Service>>(api->apply_status(*plan->write));
    const std::lock_guard in_order(*emitting);
    loop_.post([this, key, plan, result] { written(key, *plan, *result); });
    if (!result->ok()) return;
    for (const auto& event : plan->events) emit(*api, **result, event);
  });
}

bool ServiceWrites::tell(std::shared_ptr<kube::Api> api, const core::Service& service,
                         std::vector<core::EventNote> events) {
  const auto& state = states_[service.uid];
  if (state.releasing || state.writing) return false;
  log_events(service.key, events);
  executor_.submit([api = std::move(api), about = service, events = std::move(events),
                    emitting = state.emitting] {
    const std::lock_guard in_order(*emitting);
    for (const auto& event : events) emit(*api, about, event);
  });
  return true;
}

void ServiceWrites::written(const core::ServiceKey& key, const core::Plan& plan,
                            const core::Result<core::Service>& result) {
  const auto& uid = plan.write->uid;
  auto* state = find(uid);
  if (state == nullptr) return;
  state->writing = false;
  log::debug("{}: status {}", key.text(), result.ok() ? "written" : "could not be written");
  if (result.ok()) {
    clusters_.store_answer(*result);
    return callbacks_.written(*result, plan);
  }
  // Deleted meanwhile: the watch will say so.
  if (result.error().kind == core::ErrorKind::NotFound) return;
  log::warn("{}: cannot write the status: {}", key.text(), result.error().text());
  callbacks_.write_failed(key, uid);
}

void ServiceWrites::release(std::shared_ptr<kube::Api> api, const core::Service& service,
                            core::Teardown teardown) {
  auto& state = states_[service.uid];
  if (state.writing || std::exchange(state.releasing, true)) return;
  const kube::ReleasePatch patch{service.key, service.uid, teardown == core::Teardown::TakeBack};
  log::info("{}: releasing the Service", service.key.text());
  const auto work = [api = std::move(api), about = service, patch, emitting = state.emitting] {
    const std::lock_guard in_order(*emitting);
    // Before the finalizer goes: afterwards the object that the Event is about may be gone.
    emit(*api, about, {core::EventType::Normal, "Deleted", "The load balancer has been removed."});
    return api->release(patch);
  };
  run_then(executor_, loop_, work,
           [this, about = service](const auto& result) { release_ended(about, result); });
}

void ServiceWrites::release_ended(const core::Service& about, const core::Result<void>& result) {
  auto* state = find(about.uid);
  if (state == nullptr) return;
  state->releasing = false;
  if (result.ok())
    state->released = about.resource_version;  // until the watch shows a newer one
  else
    log::warn("{}: cannot release the Service: {}", about.key.text(), result.error().text());
  callbacks_.released(about.key, about.uid, result.ok());
}

bool ServiceWrites::awaits_release(const core::Service& service) {
  auto* state = find(service.uid);
  if (state == nullptr) return false;
  if (state->releasing || state->released == service.resource_version) return true;
  state->released.clear();
  return false;
}

bool ServiceWrites::was_released(const std::string& uid) const {
  const auto found = states_.find(uid);
  return found != states_.end() && !found->second.released.empty();
}

}  // namespace kindlb::controller
