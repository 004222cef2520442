// FakeEngine: the Engine interface and the test's own controls. The rules of the small world behind
// them (addresses, states, events) are in fake_docker_world.cpp.
#include "support/fakes/fake_docker.hpp"

#include <algorithm>

namespace kindlb::testing {

using core::Error;
using core::ErrorKind;
using core::Result;

namespace {

bool has_labels(const docker::Labels& labels, const std::vector<std::string>& wanted) {
  return std::ranges::all_of(wanted, [&](const std::string& want) {
    const auto equals = want.find('=');
    const auto found = labels.find(want.substr(0, equals));
    if (found == labels.end()) return false;
    return equals == std::string::npos || found->second == want.substr(equals + 1);
  });
}

Error not_found(const std::string& operation, const std::string& what) {
  return {ErrorKind::NotFound, operation + " " + what, "no such object: " + what};
}

}  // namespace

std::optional<Error> FakeEngine::enter(const std::string& operation, const std::string& subject) {
  CallHook hook;
  {
    const std::lock_guard lock(mutex_);
    const auto* box = find(subject);
    journal_.push_back(operation + " " + (box != nullptr ? box->seen.name : subject));
    hook = call_hook_;
  }
  if (hook) hook(operation, subject);
  const std::lock_guard lock(mutex_);
  auto& scripted = faults_[operation];
  if (scripted.empty()) return std::nullopt;
  auto fault = scripted.front();
  scripted.pop_front();
  return fault;
}

Result<docker::EngineInfo> FakeEngine::info() {
  if (auto fault = enter("info", "")) return *fault;
  return docker::EngineInfo{.version = "fake", .api_version = "1.41", .os = "linux"};
}

Result<std::vector<docker::Container>> FakeEngine::list_containers(const Strings& labels) {
  if (auto fault = enter("list_containers", "")) return *fault;
  const std::lock_guard lock(mutex_);
  std::vector<docker::Container> out;
  for (const auto& [id, box] : containers_)
    if (has_labels(box.seen.labels, labels)) out.push_back(box.seen);
  return out;
}

Result<docker::Container> FakeEngine::inspect_container(const std::string& id) {
  if (auto fault = enter("inspect_container", id)) return *fault;
  const std::lock_guard lock(mutex_);
  const auto* box = find(id);
  if (box == nullptr) return not_found("inspect_container", id);
  return box->seen;
}

Result<std::string> FakeEngine::create_container(const docker::ContainerSpec& spec) {
  if (auto fault = enter("create_container", spec.name)) return *fault;
  const std::lock_guard lock(mutex_);
  const auto operation = "create_container " + spec.name;
  if (find(spec.name) != nullptr)
    return Error{ErrorKind::Conflict, operation, "the container name is already in use"};
  if (!images_.contains(spec.image)) return not_found("create_container", spec.image);
  return insert_container(spec);
}

Result<void> FakeEngine::start_container(const std::string& id) {
  if (auto fault = enter("start_container", id)) return *fault;
  const std::lock_guard lock(mutex_);
  auto* box = find(id);
  if (box == nullptr) return not_found("start_container", id);
  if (find_network(box->spec.network) == nullptr && !box->spec.network.empty())
    return not_found("start_container", box->spec.network);
  start(*box);
  return {};
}

Result<void> FakeEngine::stop_container(const std::string& id, std::chrono::seconds /*grace*/) {
  if (auto fault = enter("stop_container", id)) return *fault;
  const std::lock_guard lock(mutex_);
  auto* box = find(id);
  if (box == nullptr) return not_found("stop_container", id);
  stop(*box);
  return {};
}

Result<void> FakeEngine::kill_container(const std::string& id, const std::string& /*signal*/) {
  if (auto fault = enter("kill_container", id)) return *fault;
  const std::lock_guard lock(mutex_);
  auto* box = find(id);
  if (box == nullptr) return not_found("kill_container", id);
  if (box->seen.state != docker::ContainerState::Running)
    return Error{ErrorKind::Conflict, "kill_container " + id, "the container is not running"};
  stop(*box);
  return {};
}

Result<void> FakeEngine::rename_container(const std::string& id, const std::string& name) {
  if (auto fault = enter("rename_container", id)) return *fault;
  const std::lock_guard lock(mutex_);
  auto* box = find(id);
  if (box == nullptr) return not_found("rename_container", id);
  if (find(name) != nullptr)
    return Error{ErrorKind::Conflict, "rename_container " + name, "the name is already in use"};
  const auto before = box->seen.name;
  box->seen.name = box->spec.name = name;
  publish({.type = "container",
           .action = "rename",
           .id = box->seen.id,
           .attributes = {{"name", name}, {"oldName", "/" + before}}});
  return {};
}

Result<void> FakeEngine::remove_container(const std::string& id) {
  if (auto fault = enter("remove_container", id)) return *fault;
  const std::lock_guard lock(mutex_);
  const auto* box = find(id);
  if (box == nullptr) return not_found("remove_container", id);
  erase(box->seen.id);
  return {};
}

/// No container of this world has links in it.
Result<std::string> FakeEngine::read_link(const std::string& id, const std::string& path) {
  if (auto fault = enter("read_link", id)) return *fault;
  return not_found("read_link", path);
}

Result<std::string> FakeEngine::read_file(const std::string& id, const std::string& path) {
  if (auto fault = enter("read_file", id)) return *fault;
  const std::lock_guard lock(mutex_);
  const auto* box = find(id);
  if (box == nullptr) return not_found("read_file", id);
  const auto file = box->files.find(path);
  if (file == box->files.end()) return not_found("read_file", path);
  return file->second;
}

Result<void> FakeEngine::put_archive(const std::string& id, const std::string& path,
                                     const std::string& tar) {
  if (auto fault = enter("put_archive", id)) return *fault;
  const std::lock_guard lock(mutex_);
  auto* box = find(id);
  if (box == nullptr) return not_found("put_archive", id);
  box->files[path] = tar;  // kept packed: tests that care unpack it with docker::read_tar
  return {};
}

Result<docker::ExecStream> FakeEngine::exec(const std::string& id, const Strings& command,
                                            const std::string& /*user*/) {
  if (auto fault = enter("exec", id)) return *fault;
  std::unique_lock lock(mutex_);
  const auto* box = find(id);
  if (box == nullptr) return not_found("exec", id);
  if (box->seen.state != docker::ContainerState::Running)
    return Error{ErrorKind::Conflict, "exec " + id, "the container is not running"};
  const auto seen = box->seen;
  const auto hook = exec_hook_;
  lock.unlock();
  if (!hook) return Error{ErrorKind::Unavailable, "exec " + id, "no hook is set for exec"};
  return hook(seen, command);
}

Result<std::vector<docker::Network>> FakeEngine::list_networks(const Strings& labels) {
  if (auto fault = enter("list_networks", "")) return *fault;
  const std::lock_guard lock(mutex_);
  std::vector<docker::Network> out;
  for (auto [id, network] : networks_) {
    network.members.clear();  // as the engine's list does
    if (has_labels(network.labels, labels)) out.push_back(network);
  }
  return out;
}

Result<docker::Network> FakeEngine::inspect_network(const std::string& name_or_id) {
  if (auto fault = enter("inspect_network", name_or_id)) return *fault;
  const std::lock_guard lock(mutex_);
  const auto* network = find_network(name_or_id);
  if (network == nullptr) return not_found("inspect_network", name_or_id);
  return *network;
}

Result<std::string> FakeEngine::create_network(const docker::NetworkSpec& spec) {
  if (auto fault = enter("create_network", spec.name)) return *fault;
  const std::lock_guard lock(mutex_);
  if (find_network(spec.name) != nullptr)
    return Error{ErrorKind::Conflict, "create_network " + spec.name, "already exists"};
  return insert_network(spec);
}

Result<void> FakeEngine::remove_network(const std::string& name_or_id) {
  if (auto fault = enter("remove_network", name_or_id)) return *fault;
  const std::lock_guard lock(mutex_);
  const auto* network = find_network(name_or_id);
  if (network == nullptr) return not_found("remove_network", name_or_id);
  if (!network->members.empty())
    return Error{ErrorKind::Denied, "remove_network " + name_or_id, "has active endpoints"};
  publish({.type = "network",
           .action = "destroy",
           .id = network->id,
           .attributes = {{"name", network->name}}});
  networks_.erase(network->id);
  return {};
}

Result<docker::Image> FakeEngine::inspect_image(const std::string& reference) {
  if (auto fault = enter("inspect_image", reference)) return *fault;
  const std::lock_guard lock(mutex_);
  const auto found = images_.find(reference);
  if (found == images_.end()) return not_found("inspect_image", reference);
  return found->second.image;
}

Result<std::vector<docker::Image>> FakeEngine::list_images(const Strings& labels) {
  if (auto fault = enter("list_images", "")) return *fault;
  const std::lock_guard lock(mutex_);
  std::vector<docker::Image> out;
  for (const auto& [reference, picture] : images_)
    if (has_labels(picture.labels, labels)) out.push_back(picture.image);
  return out;
}

Result<void> FakeEngine::pull_image(const std::string& reference, const docker::Progress& progress,
                                    std::stop_token /*stop*/) {
  if (auto fault = enter("pull_image", reference)) return *fault;
  {
    const std::lock_guard lock(mutex_);
    if (!registry_.contains(reference)) return not_found("pull_image", reference);
  }
  add_image(reference);
  if (progress) progress("Pulled " + reference);
  return {};
}

Result<void> FakeEngine::build_image(const std::string& tag, const std::string& context_tar,
                                     const docker::Labels& labels, const docker::Progress& progress,
                                     std::stop_token /*stop*/) {
  if (auto fault = enter("build_image", tag)) return *fault;
  add_image(tag);
  const std::lock_guard lock(mutex_);
  images_[tag].labels = labels;
  images_[tag].context = context_tar;
  if (progress) progress("Successfully tagged " + tag);
  return {};
}

Result<void> FakeEngine::remove_image(const std::string& reference) {
  if (auto fault = enter("remove_image", reference)) return *fault;
  const std::lock_guard lock(mutex_);
  if (images_.erase(reference) == 0) return not_found("remove_image", reference);
  return {};
}

Result<std::string> FakeEngine::create_volume(const docker::Volume& volume) {
  if (auto fault = enter("create_volume", volume.name)) return *fault;
  const std::lock_guard lock(mutex_);
  const auto name = volume.name.empty() ? new_id() : volume.name;
  volumes_.try_emplace(name, docker::Volume{name, volume.labels});  // idempotent, as the engine's
  return name;
}

Result<std::vector<docker::Volume>> FakeEngine::list_volumes(const Strings& labels) {
  if (auto fault = enter("list_volumes", "")) return *fault;
  const std::lock_guard lock(mutex_);
  std::vector<docker::Volume> out;
  for (const auto& [name, volume] : volumes_)
    if (has_labels(volume.labels, labels)) out.push_back(volume);
  return out;
}

Result<void> FakeEngine::remove_volume(const std::string& name) {
  if (auto fault = enter("remove_volume", name)) return *fault;
  const std::lock_guard lock(mutex_);
  if (volume_in_use(name))
    return Error{ErrorKind::Conflict, "remove_volume " + name, "volume is in use"};
  if (volumes_.erase(name) == 0) return not_found("remove_volume", name);
  return {};
}

}  // namespace kindlb::testing
