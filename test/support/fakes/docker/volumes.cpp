#include "support/fakes/docker/volumes.hpp"

namespace kindlb::testing {

using core::Error;
using core::ErrorKind;
using core::Result;

Result<std::string> FakeVolumes::create(const docker::Volume& volume) {
  if (auto fault = calls_.enter("create_volume", volume.name)) return *fault;
  const std::lock_guard lock(mutex_);
  const auto name = volume.name.empty() ? calls_.new_id() : volume.name;
  volumes_.try_emplace(name, docker::Volume{name, volume.labels});  // idempotent, as the engine's
  return name;
}

Result<std::vector<docker::Volume>> FakeVolumes::list(const std::vector<std::string>& labels) {
  if (auto fault = calls_.enter("list_volumes", "")) return *fault;
  const std::lock_guard lock(mutex_);
  std::vector<docker::Volume> out;
  for (const auto& [name, volume] : volumes_)
    if (has_labels(volume.labels, labels)) out.push_back(volume);
  return out;
}

Result<void> FakeVolumes::remove(const std::string& name) {
  if (auto fault = calls_.enter("remove_volume", name)) return *fault;
  const std::lock_guard lock(mutex_);
  if (containers_.any_mounts(name))
    return Error{ErrorKind::Conflict, "remove_volume " + name, "volume is in use"};
  if (volumes_.erase(name) == 0) return not_found("remove_volume", name);
  return {};
}

}  // namespace kindlb::testing
