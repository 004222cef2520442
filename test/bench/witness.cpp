#include "bench/witness.hpp"

#include "kindlb/core/conditions.hpp"

#include <algorithm>

namespace kindlb::bench {

Witness::Witness(std::shared_ptr<http::Client> client)
    : reflectors_(kube::start_reflectors(std::move(client), "bench", *this)) {}

std::optional<Sighting> Witness::wait_serving(const std::string& service,
                                              std::chrono::seconds limit) {
  std::unique_lock lock(mutex_);
  const bool came = changed_.wait_for(lock, limit, [&] {
    const auto found = seen_.find(service);
    return found != seen_.end() && found->second.serving.has_value();
  });
  return came ? std::optional(seen_.at(service)) : std::nullopt;
}

bool Witness::wait_gone(const std::string& service, std::chrono::seconds limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [&] { return !seen_.contains(service); });
}

Sighting Witness::sighting(const std::string& service) {
  const std::lock_guard lock(mutex_);
  return seen_[service];
}

Writes Witness::writes() {
  const std::lock_guard lock(mutex_);
  return writes_;
}

void Witness::note_write(const std::string& service) {
  ++writes_.count;
  writes_.last = std::chrono::steady_clock::now();
  writes_.service = service;
}

void Witness::services_listed(std::vector<core::Service> all) {
  for (auto& service : all) service_changed(std::move(service));
}

void Witness::service_changed(core::Service service) {
  const std::lock_guard lock(mutex_);
  auto& sighting = seen_[service.key.name];
  if (sighting.resource_version != service.resource_version) note_write(service.key.name);
  sighting.resource_version = service.resource_version;
  const bool serves = core::is_true(service.status.conditions, core::kServingCondition) &&
                      !service.status.ingress.empty();
  if (serves && !sighting.serving) {
    sighting.serving = std::chrono::steady_clock::now();
    sighting.ip = service.status.ingress.front().ip;
  }
  changed_.notify_all();
}

void Witness::service_deleted(const core::ServiceKey& key) {
  const std::lock_guard lock(mutex_);
  seen_.erase(key.name);
  note_write(key.name);
  changed_.notify_all();
}

void Witness::slices_listed(std::vector<core::EndpointSlice> all) {
  for (auto& slice : all) slice_changed(std::move(slice));
}

void Witness::slice_changed(core::EndpointSlice slice) {
  const bool ready = std::any_of(slice.endpoints.begin(), slice.endpoints.end(),
                                 [](const core::Endpoint& one) { return one.ready; });
  const std::lock_guard lock(mutex_);
  auto& sighting = seen_[slice.service.name];
  if (ready && !sighting.slice) sighting.slice = std::chrono::steady_clock::now();
  changed_.notify_all();
}

}  // namespace kindlb::bench
