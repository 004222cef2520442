#include "service_watch.hpp"

#include "kindlb/base/number.hpp"
#include "kindlb/json/json.hpp"

#include <cstdint>
#include <utility>

namespace kindlb::conformance {

namespace {
/// An API server that is slower than this to pass on a version it has accepted is read instead.
constexpr std::chrono::seconds kMaxWatchLag{5};

/// Resource versions are numbers, and those of one resource can be compared. Of others, nothing is
/// known but whether they are equal.
bool is_later(const std::string& candidate, const std::string& known) {
  const auto a = base::parse_number<std::uint64_t>(candidate);
  const auto b = base::parse_number<std::uint64_t>(known);
  return a && b ? *a > *b : candidate != known;
}
}  // namespace

ServiceWatch::ServiceWatch(kube::Objects& objects, std::string collection)
    : thread_([this, &objects, path = std::move(collection)](const std::stop_token& stop) {
        objects.watch(path, *this, stop);
      }) {}

std::optional<core::Service> ServiceWatch::newest(const std::string& name,
                                                  const std::string& version,
                                                  const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, stop, kMaxWatchLag,
                    [&] { return broken_ || has_reached(name, version); });
  if (has_reached(name, version)) return services_.at(name).back().service;
  if (!broken_ && !stop.stop_requested()) {
    broken_ = true;
    last_failure_ = "it is late by more than 5 s";
  }
  return std::nullopt;
}

bool ServiceWatch::has_reached(const std::string& name, const std::string& version) const {
  const auto found = services_.find(name);
  return found != services_.end() &&
         !is_later(version, found->second.back().service.resource_version);
}

void ServiceWatch::await_later(const std::string& name, const std::string& version,
                               std::chrono::milliseconds limit, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, stop, limit, [&] {
    const auto found = services_.find(name);
    return found != services_.end() &&
           is_later(found->second.back().service.resource_version, version);
  });
}

void ServiceWatch::add_read(core::Service service) {
  const std::lock_guard lock(mutex_);
  add(std::move(service), false);
}

std::vector<ServiceVersion> ServiceWatch::versions(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = services_.find(name);
  return found == services_.end() ? std::vector<ServiceVersion>{} : found->second;
}

std::string ServiceWatch::last_failure() const {
  const std::lock_guard lock(mutex_);
  return last_failure_;
}

/// Only the first list misses nothing: the run has no Services before it.
void ServiceWatch::listed(const std::vector<nlohmann::json>& all) {
  const std::lock_guard lock(mutex_);
  for (const auto& one : all)
    if (auto service = kube::service_from(one)) add(std::move(*service), !listed_);
  listed_ = true;
}

void ServiceWatch::changed(const nlohmann::json& object) {
  const std::lock_guard lock(mutex_);
  broken_ = false;
  if (auto service = kube::service_from(object)) add(std::move(*service), true);
}

/// A Service that is gone cannot break a rule any more.
void ServiceWatch::deleted(const nlohmann::json& /*object*/) {}

void ServiceWatch::watch_state(const core::Result<void>& state) {
  const std::lock_guard lock(mutex_);
  broken_ = !state;
  if (!state) last_failure_ = state.error().text();
  changed_.notify_all();
}

void ServiceWatch::add(core::Service service, bool follows) {
  auto& versions = services_[service.key.name];
  if (!versions.empty() &&
      !is_later(service.resource_version, versions.back().service.resource_version))
    return;
  versions.push_back({std::move(service), follows});
  changed_.notify_all();
}

}  // namespace kindlb::conformance
