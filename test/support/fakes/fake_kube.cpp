#include "support/fakes/fake_kube.hpp"

#include "kindlb/core/conditions.hpp"
#include "kindlb/core/eligibility.hpp"
#include "support/builders.hpp"

#include <utility>

namespace kindlb::testing {

using core::Error;
using core::ErrorKind;
using core::Service;

namespace {

template <typename Map>
auto values_of(const Map& map) {
  std::vector<typename Map::mapped_type> out;
  for (const auto& [key, value] : map) out.push_back(value);
  return out;
}

std::string short_name(const core::ServiceKey& key) {
  return key.ns + "/" + key.name;
}

void take_back(Service& service) {
  service.annotations.erase(core::kObservedAnnotation);
  service.status.ingress.clear();
  std::erase_if(service.status.conditions, [](const core::Condition& condition) {
    return condition.type.starts_with("LoadBalancer");
  });
}

}  // namespace

// ---- the watch ---------------------------------------------------------------------------------

void FakeKube::notify(Edit edit) {
  if (down_) return;  // the list after it tells
  if (holding_)
    held_.push_back(std::move(edit));
  else if (watch_)
    watch_(std::move(edit));
}

void FakeKube::notify_all() {
  notify([all = values_of(services_)](auto& store) { return store.replace_services(all); });
  notify([all = values_of(slices_)](auto& store) { return store.replace_slices(all); });
  notify([all = values_of(nodes_)](auto& store) { return store.replace_nodes(all); });
}

void FakeKube::watch(Watch watch) {
  const std::lock_guard lock(mutex_);
  watch_ = std::move(watch);
  held_.clear();
  if (watch_) notify_all();
}

void FakeKube::hold_watch_events(bool hold) {
  const std::lock_guard lock(mutex_);
  holding_ = hold;
  if (hold) return;
  for (auto& edit : std::exchange(held_, {})) notify(std::move(edit));
}

void FakeKube::set_down(bool down) {
  const std::lock_guard lock(mutex_);
  down_ = down;
  if (!down) notify_all();
}

void FakeKube::fail_next(const std::string& operation, Error error, int times) {
  const std::lock_guard lock(mutex_);
  for (int i = 0; i < times; ++i) faults_[operation].push_back(error);
}

void FakeKube::before_next_apply(std::function<void()> hook) {
  const std::lock_guard lock(mutex_);
  before_ = std::move(hook);
}

void FakeKube::mangle_writes(std::function<void(core::StatusApply&)> mangle) {
  const std::lock_guard lock(mutex_);
  mangle_ = std::move(mangle);
}

void FakeKube::after_next_apply(std::function<void()> hook) {
  const std::lock_guard lock(mutex_);
  after_ = std::move(hook);
}

// ---- users -------------------------------------------------------------------------------------

core::ServiceKey FakeKube::key_of(const std::string& name) const {
  const auto [ns, plain] = test::split_name(name);
  return {cluster_, ns, plain};
}

void FakeKube::store(Service service) {
  service.resource_version = std::to_string(++version_);
  notify([service](auto& store) { return store.put_service(service); });
  auto key = service.key;
  services_.insert_or_assign(std::move(key), std::move(service));
}

/// Stores it, or lets it go when it is being deleted and nothing holds it back.
void FakeKube::store_or_delete(Service service) {
  const auto key = service.key;
  const bool gone = service.deleting && service.finalizers.empty();
  if (!gone) return store(std::move(service));
  ++version_;
  services_.erase(key);
  notify([key](auto& store) { return store.remove_service(key); });
}

Service FakeKube::create(Service service) {
  const std::lock_guard lock(mutex_);
  service.key.cluster = cluster_;
  service.uid = "uid-" + cluster_ + "-" + service.key.name + "-" + std::to_string(++births_);
  store(service);
  return services_.at(service.key);
}

void FakeKube::edit(const std::string& name, const std::function<void(Service&)>& change) {
  const std::lock_guard lock(mutex_);
  auto service = services_.at(key_of(name));
  change(service);
  store_or_delete(std::move(service));
}

void FakeKube::remove(const std::string& name) {
  edit(name, [](Service& service) { service.deleting = true; });
}

void FakeKube::put_slice(core::EndpointSlice slice) {
  const std::lock_guard lock(mutex_);
  slice.service.cluster = cluster_;
  notify([slice](auto& store) { return store.put_slice(slice); });
  slices_.insert_or_assign({slice.service.ns, slice.name}, std::move(slice));
}

void FakeKube::remove_slice(const std::string& ns, const std::string& name) {
  const std::lock_guard lock(mutex_);
  slices_.erase({ns, name});
  notify([ns, name](auto& store) { return store.remove_slice(ns, name); });
}

void FakeKube::put_node(core::Node node) {
  const std::lock_guard lock(mutex_);
  notify([node](auto& store) { return store.put_node(node); });
  nodes_.insert_or_assign(node.name, std::move(node));
}

// ---- looking -----------------------------------------------------------------------------------

std::optional<Service> FakeKube::get(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = services_.find(key_of(name));
  return found == services_.end() ? std::nullopt : std::optional(found->second);
}

std::size_t FakeKube::size() const {
  const std::lock_guard lock(mutex_);
  return services_.size();
}

std::vector<std::string> FakeKube::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

void FakeKube::forget_events() {
  const std::lock_guard lock(mutex_);
  events_.clear();
}

// ---- the API -----------------------------------------------------------------------------------

std::optional<Error> FakeKube::enter(const std::string& operation, const core::ServiceKey& key) {
  if (down_) return Error{ErrorKind::Unavailable, operation, "connection refused"};
  if (!journal_.enter(operation + " " + short_name(key)))
    return Error{ErrorKind::Cancelled, operation, "kindlb is dead"};
  const auto faults = faults_.find(operation);
  if (faults == faults_.end() || faults->second.empty()) return std::nullopt;
  auto error = std::move(faults->second.front());
  faults->second.pop_front();
  return error;
}

core::Result<Service> FakeKube::apply_status(const core::StatusApply& apply) {
  std::function<void()> before;
  std::function<void()> after;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(before_, nullptr);
    after = std::exchange(after_, nullptr);
  }
  if (before) before();
  auto result = write(apply);
  if (after) after();
  return result;
}

core::Result<Service> FakeKube::write(const core::StatusApply& apply) {
  const std::lock_guard lock(mutex_);
  if (auto error = enter("apply", apply.key)) return *error;
  const auto found = services_.find(apply.key);
  if (found == services_.end() || found->second.uid != apply.uid)
    return Error{ErrorKind::NotFound, "apply", "no such Service"};
  if (found->second.deleting && !core::has_finalizer(found->second))
    return Error{ErrorKind::Invalid, "apply", "no new finalizers while it is being deleted"};
  auto stored = apply;
  if (mangle_) mangle_(stored);
  auto after = test::accepted(found->second, stored);
  if (after != found->second) store(std::move(after));
  return services_.at(apply.key);
}

core::Result<void> FakeKube::release(const kube::ReleasePatch& patch) {
  const std::lock_guard lock(mutex_);
  if (auto error = enter("release", patch.key)) return *error;
  const auto found = services_.find(patch.key);
  if (found == services_.end() || found->second.uid != patch.uid) return {};
  auto service = found->second;
  std::erase(service.finalizers, core::kFinalizer);
  if (patch.clear_status) take_back(service);
  if (service != found->second) store_or_delete(std::move(service));
  return {};
}

core::Result<void> FakeKube::emit(const Service& about, const core::EventNote& note) {
  const std::lock_guard lock(mutex_);
  if (auto error = enter("event", about.key)) return *error;
  events_.push_back(short_name(about.key) + " " + note.reason);
  return {};
}

}  // namespace kindlb::testing
