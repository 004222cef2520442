#include "support/fakes/docker/calls.hpp"

#include "kindlb/core/hash.hpp"

#include <algorithm>

namespace kindlb::testing {

void FakeCalls::on_call(Hook hook) {
  const std::lock_guard lock(mutex_);
  hook_ = std::move(hook);
}

void FakeCalls::fail_next(const std::string& operation, core::Error error, int times) {
  const std::lock_guard lock(mutex_);
  for (int i = 0; i < times; ++i) faults_[operation].push_back(error);
}

FakeCalls::Strings FakeCalls::journal() const {
  const std::lock_guard lock(mutex_);
  return journal_;
}

std::size_t FakeCalls::count(const std::string& operation) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(
      journal_, [&](const auto& entry) { return entry.starts_with(operation + " "); }));
}

std::optional<core::Error> FakeCalls::enter(const std::string& operation,
                                            const std::string& subject, const std::string& name) {
  Hook hook;
  {
    const std::lock_guard lock(mutex_);
    journal_.push_back(operation + " " + (name.empty() ? subject : name));
    hook = hook_;
  }
  if (hook) hook(operation, subject);
  const std::lock_guard lock(mutex_);
  auto& scripted = faults_[operation];
  if (scripted.empty()) return std::nullopt;
  auto fault = scripted.front();
  scripted.pop_front();
  return fault;
}

std::string FakeCalls::new_id() {
  const std::lock_guard lock(mutex_);
  const auto number = std::to_string(++ids_);
  return core::hex(core::fnv1a("id" + number)) + core::hex(core::fnv1a(number)) +
         core::hex(core::fnv1a("x" + number)) + core::hex(core::fnv1a("y" + number));
}

bool has_labels(const docker::Labels& labels, const std::vector<std::string>& wanted) {
  return std::ranges::all_of(wanted, [&](const std::string& want) {
    const auto equals = want.find('=');
    const auto found = labels.find(want.substr(0, equals));
    if (found == labels.end()) return false;
    return equals == std::string::npos || found->second == want.substr(equals + 1);
  });
}

core::Error not_found(const std::string& operation, const std::string& what) {
  return {core::ErrorKind::NotFound, operation + " " + what, "no such object: " + what};
}

}  // namespace kindlb::testing
