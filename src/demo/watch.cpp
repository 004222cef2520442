#include "watch.hpp"

#include "service_text.hpp"

#include <algorithm>
#include <utility>

namespace kindlb::demo {

namespace {
using Lock = std::lock_guard<std::mutex>;
}

Watch::Services Watch::services() const {
  const Lock lock(mutex_);
  return services_;
}

bool Watch::has_ready_endpoints(const std::string& service) const {
  const Lock lock(mutex_);
  return std::ranges::any_of(slices_, [&](const auto& entry) {
    const auto& slice = entry.second;
    return slice.service.name == service &&
           std::ranges::any_of(slice.endpoints, [](const auto& one) { return one.ready; });
  });
}

std::vector<Change> Watch::changes(std::size_t from) const {
  const Lock lock(mutex_);
  if (from >= changes_.size()) return {};
  return {changes_.begin() + static_cast<std::ptrdiff_t>(from), changes_.end()};
}

bool Watch::wait(std::size_t from, std::chrono::milliseconds limit, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  return news_.wait_for(lock, stop, limit, [&] { return changes_.size() > from; });
}

void Watch::note(const std::string& service, std::string what) {
  changes_.push_back({std::chrono::system_clock::now(), service, std::move(what)});
  news_.notify_all();
}

/// Entries are only added: a Service that was deleted while the watch was down stays listed. The
/// API server runs in the same process, so that hardly ever happens.
void Watch::services_listed(std::vector<core::Service> all) {
  for (auto& one : all) service_changed(std::move(one));
}

void Watch::service_changed(core::Service service) {
  if (service.spec.type != core::ServiceType::LoadBalancer) return;
  const Lock lock(mutex_);
  const auto known = services_.find(service.key.name);
  const auto* const before = known == services_.end() ? nullptr : &known->second;
  const auto changes = differences(before, service);
  const auto name = service.key.name;
  services_[name] = std::move(service);
  for (const auto& what : changes) note(name, what);
}

void Watch::service_deleted(const core::ServiceKey& key) {
  const Lock lock(mutex_);
  if (services_.erase(key.name) > 0) note(key.name, "deleted");
}

void Watch::slices_listed(std::vector<core::EndpointSlice> all) {
  for (auto& one : all) slice_changed(std::move(one));
}

void Watch::slice_changed(core::EndpointSlice slice) {
  const Lock lock(mutex_);
  const auto key = slice.service.ns + "/" + slice.name;
  slices_[key] = std::move(slice);
}

void Watch::slice_deleted(const std::string& ns, const std::string& name) {
  const Lock lock(mutex_);
  slices_.erase(ns + "/" + name);
}

}  // namespace kindlb::demo
