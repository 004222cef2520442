#include "integration/diary.hpp"

#include "kindlb/core/conditions.hpp"

#include <stdexcept>

namespace kindlb::it {

namespace {

constexpr std::chrono::seconds kListLimit{20};

}  // namespace

Diary::Diary(std::shared_ptr<http::Client> client, std::string ns) : ns_(std::move(ns)) {
  reflectors_ = kube::start_reflectors(std::move(client), "diary", *this);
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kListLimit, [this] { return listed_; }))
    throw std::runtime_error("the API server does not list Services");
}

Diary::~Diary() = default;

std::optional<core::Service> Diary::wait(const std::string& name, const Wish& wish,
                                         std::chrono::milliseconds limit, std::size_t from) {
  std::unique_lock lock(mutex_);
  std::optional<core::Service> found;
  changed_.wait_for(lock, limit, [&] {
    const auto& pages = pages_[name];
    for (; from < pages.size(); ++from)
      if (wish(pages[from])) {
        found = pages[from];
        return true;
      }
    return false;
  });
  return found;
}

bool Diary::wait_gone(const std::string& name, std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [&] { return gone_.contains(name); });
}

std::vector<core::Service> Diary::pages(const std::string& name, std::size_t from) {
  const std::lock_guard lock(mutex_);
  const auto& all = pages_[name];
  return {all.begin() + static_cast<long>(std::min(from, all.size())), all.end()};
}

void Diary::note(core::Service service) {
  if (service.key.ns != ns_) return;
  gone_.erase(service.key.name);
  auto& pages = pages_[service.key.name];
  // A list that follows a broken watch repeats what is known.
  if (pages.empty() || pages.back() != service) pages.push_back(std::move(service));
}

void Diary::services_listed(std::vector<core::Service> all) {
  const std::lock_guard lock(mutex_);
  for (auto& service : all) note(std::move(service));
  listed_ = true;
  changed_.notify_all();
}

void Diary::service_changed(core::Service service) {
  const std::lock_guard lock(mutex_);
  note(std::move(service));
  changed_.notify_all();
}

void Diary::service_deleted(const core::ServiceKey& key) {
  const std::lock_guard lock(mutex_);
  if (key.ns == ns_) gone_.insert(key.name);
  changed_.notify_all();
}

std::string told(const core::Service& service) {
  std::string out;
  for (const auto* type :
       {core::kServingCondition, core::kProvisioningCondition, core::kDegradedCondition}) {
    const auto* condition = core::find_condition(service.status.conditions, type);
    if (condition == nullptr) continue;
    const auto short_name = std::string(type).substr(std::string("LoadBalancer").size());
    out += (out.empty() ? "" : " ") + short_name + "=" + core::name_of(condition->status) + "/" +
           condition->reason;
  }
  return out;
}

std::vector<std::string> told(const std::vector<core::Service>& pages) {
  std::vector<std::string> out;
  for (const auto& page : pages)
    if (auto line = told(page); out.empty() || out.back() != line) out.push_back(std::move(line));
  return out;
}

bool is_serving(const core::Service& service) {
  return core::is_true(service.status.conditions, core::kServingCondition) &&
         !core::is_true(service.status.conditions, core::kProvisioningCondition);
}

}  // namespace kindlb::it
