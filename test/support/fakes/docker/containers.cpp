#include "support/fakes/docker/containers.hpp"

#include "kindlb/core/assert.hpp"

#include <algorithm>

namespace kindlb::testing {

using core::Error;
using core::ErrorKind;
using core::Result;
using docker::ContainerState;

namespace {
constexpr std::int64_t kFirstPid = 4711;
}

std::string FakeContainers::add(const docker::ContainerSpec& spec) {
  const std::lock_guard lock(mutex_);
  const auto id = insert(spec);
  run(containers_.at(id));
  return id;
}

void FakeContainers::die(const std::string& id_or_name) {
  const std::lock_guard lock(mutex_);
  if (const auto id = id_of(id_or_name); !id.empty()) end(containers_.at(id));
}

void FakeContainers::vanish(const std::string& id_or_name) {
  const std::lock_guard lock(mutex_);
  if (const auto id = id_of(id_or_name); !id.empty()) erase(id);
}

void FakeContainers::pause(const std::string& id_or_name) {
  const std::lock_guard lock(mutex_);
  auto& seen = containers_.at(id_of(id_or_name)).seen;
  seen.state = ContainerState::Paused;
  publish(seen, "pause");
}

void FakeContainers::unpause(const std::string& id_or_name) {
  const std::lock_guard lock(mutex_);
  auto& seen = containers_.at(id_of(id_or_name)).seen;
  seen.state = ContainerState::Running;
  publish(seen, "unpause");
}

void FakeContainers::disconnect(const std::string& id_or_name) {
  const std::lock_guard lock(mutex_);
  auto& entry = containers_.at(id_of(id_or_name));
  networks_.detach(entry.seen);
  entry.seen.networks.clear();
}

void FakeContainers::set_process_state(const std::string& id_or_name, const std::string& state) {
  const std::lock_guard lock(mutex_);
  containers_.at(id_of(id_or_name)).process_state = state;
}

std::optional<docker::Container> FakeContainers::find(const std::string& id_or_name) const {
  const std::lock_guard lock(mutex_);
  const auto id = id_of(id_or_name);
  return id.empty() ? std::nullopt : std::optional(containers_.at(id).seen);
}

bool FakeContainers::any_mounts(const std::string& volume) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(containers_, [&](const auto& entry) {
    return std::ranges::any_of(entry.second.spec.volumes,
                               [&](const auto& mount) { return mount.volume == volume; });
  });
}

std::string FakeContainers::name_of(const std::string& id_or_name) const {
  const auto found = find(id_or_name);
  return found ? found->name : id_or_name;
}

Result<std::vector<docker::Container>> FakeContainers::list(
    const std::vector<std::string>& labels) {
  if (auto fault = calls_.enter("list_containers", "")) return *fault;
  const std::lock_guard lock(mutex_);
  std::vector<docker::Container> out;
  for (const auto& [id, entry] : containers_)
    if (has_labels(entry.seen.labels, labels)) out.push_back(entry.seen);
  return out;
}

Result<docker::Container> FakeContainers::inspect(const std::string& id) {
  if (auto fault = enter("inspect_container", id)) return *fault;
  auto found = find(id);
  if (!found) return not_found("inspect_container", id);
  return *std::move(found);
}

Result<std::vector<docker::Process>> FakeContainers::processes(const std::string& id) {
  if (auto fault = enter("list_processes", id)) return *fault;
  const std::lock_guard lock(mutex_);
  const auto found = id_of(id);
  if (found.empty()) return not_found("list_processes", id);
  const auto& entry = containers_.at(found);
  return std::vector<docker::Process>{{entry.seen.pid + 1, "Ss"},
                                      {entry.seen.pid, entry.process_state}};
}

Result<std::string> FakeContainers::create(const docker::ContainerSpec& spec) {
  if (auto fault = enter("create_container", spec.name)) return *fault;
  const std::lock_guard lock(mutex_);
  if (!id_of(spec.name).empty())
    return Error{ErrorKind::Conflict, "create_container " + spec.name,
                 "the container name is already in use"};
  if (!images_.find(spec.image)) return not_found("create_container", spec.image);
  return insert(spec);
}

Result<void> FakeContainers::start(const std::string& id) {
  if (auto fault = enter("start_container", id)) return *fault;
  const std::lock_guard lock(mutex_);
  const auto found = id_of(id);
  if (found.empty()) return not_found("start_container", id);
  auto& entry = containers_.at(found);
  if (!entry.spec.network.empty() && !networks_.exists(entry.spec.network))
    return not_found("start_container", entry.spec.network);
  run(entry);
  return {};
}

Result<void> FakeContainers::stop(const std::string& id, std::chrono::seconds /*grace*/) {
  if (auto fault = enter("stop_container", id)) return *fault;
  const std::lock_guard lock(mutex_);
  const auto found = id_of(id);
  if (found.empty()) return not_found("stop_container", id);
  end(containers_.at(found));
  return {};
}

Result<void> FakeContainers::kill(const std::string& id, const std::string& /*signal*/) {
  if (auto fault = enter("kill_container", id)) return *fault;
  const std::lock_guard lock(mutex_);
  const auto found = id_of(id);
  if (found.empty()) return not_found("kill_container", id);
  auto& entry = containers_.at(found);
  if (entry.seen.state != ContainerState::Running)
    return Error{ErrorKind::Conflict, "kill_container " + id, "the container is not running"};
  end(entry);
  return {};
}

Result<void> FakeContainers::rename(const std::string& id, const std::string& name) {
  if (auto fault = enter("rename_container", id)) return *fault;
  const std::lock_guard lock(mutex_);
  const auto found = id_of(id);
  if (found.empty()) return not_found("rename_container", id);
  if (!id_of(name).empty())
    return Error{ErrorKind::Conflict, "rename_container " + name, "the name is already in use"};
  auto& entry = containers_.at(found);
  const auto before = entry.seen.name;
  entry.seen.name = entry.spec.name = name;
  system_.publish({.type = "container",
                   .action = "rename",
                   .id = entry.seen.id,
                   .attributes = {{"name", name}, {"oldName", "/" + before}}});
  return {};
}

Result<void> FakeContainers::remove(const std::string& id) {
  if (auto fault = enter("remove_container", id)) return *fault;
  const std::lock_guard lock(mutex_);
  const auto found = id_of(id);
  if (found.empty()) return not_found("remove_container", id);
  erase(found);
  return {};
}

std::optional<Error> FakeContainers::enter(const std::string& operation, const std::string& id) {
  return calls_.enter(operation, id, name_of(id));
}

std::string FakeContainers::id_of(const std::string& id_or_name) const {
  if (containers_.contains(id_or_name)) return id_or_name;
  for (const auto& [id, entry] : containers_)
    if (entry.seen.name == id_or_name) return id;
  return {};
}

std::string FakeContainers::insert(const docker::ContainerSpec& spec) {
  Entry entry{.seen = {.id = calls_.new_id(),
                       .name = spec.name,
                       .image = spec.image,
                       .labels = spec.labels},
              .spec = spec};
  if (const auto image = images_.find(spec.image)) entry.seen.image_id = image->id;
  if (!spec.network.empty()) entry.seen.networks = {{.network = spec.network}};
  publish(entry.seen, "create");
  return containers_.emplace(entry.seen.id, entry).first->first;
}

void FakeContainers::run(Entry& entry) {
  if (entry.seen.state == ContainerState::Running) return;
  if (const auto attachment = networks_.attach(entry.spec.network, entry.seen))
    entry.seen.networks = {*attachment};
  entry.seen.state = ContainerState::Running;
  entry.seen.pid = kFirstPid;
  publish(entry.seen, "start");
}

void FakeContainers::end(Entry& entry) {
  if (entry.seen.state != ContainerState::Running) return;
  networks_.detach(entry.seen);
  for (auto& attachment : entry.seen.networks) attachment.ipv4 = attachment.ipv6 = std::nullopt;
  entry.seen.state = ContainerState::Exited;
  entry.seen.pid = 0;
  publish(entry.seen, "die");
}

void FakeContainers::erase(const std::string& id) {
  auto& entry = containers_.at(id);
  end(entry);
  publish(entry.seen, "destroy");
  containers_.erase(id);
}

void FakeContainers::publish(const docker::Container& container, const std::string& action) {
  auto attributes = container.labels;
  attributes["name"] = container.name;
  attributes["image"] = container.image;
  system_.publish({.type = "container",
                   .action = action,
                   .id = container.id,
                   .attributes = std::move(attributes)});
}

// Files ------------------------------------------------------------------------------------------

void FakeContainerFiles::set(const std::string& id_or_name, const std::string& path,
                             const std::string& content) {
  const auto container = containers_.find(id_or_name);
  KINDLB_ASSERT(container.has_value());
  const std::lock_guard lock(mutex_);
  files_[container->id][path] = content;
}

Result<std::string> FakeContainerFiles::read_file(const std::string& id, const std::string& path) {
  if (auto fault = calls_.enter("read_file", id, containers_.name_of(id))) return *fault;
  const auto container = containers_.find(id);
  if (!container) return not_found("read_file", id);
  const std::lock_guard lock(mutex_);
  const auto& files = files_[container->id];
  const auto file = files.find(path);
  if (file == files.end()) return not_found("read_file", path);
  return file->second;
}

Result<std::string> FakeContainerFiles::read_link(const std::string& id, const std::string& path) {
  if (auto fault = calls_.enter("read_link", id, containers_.name_of(id))) return *fault;
  return not_found("read_link", path);
}

Result<void> FakeContainerFiles::put_archive(const std::string& id, const std::string& path,
                                             const std::string& tar) {
  if (auto fault = calls_.enter("put_archive", id, containers_.name_of(id))) return *fault;
  if (!containers_.find(id)) return not_found("put_archive", id);
  set(id, path, tar);
  return {};
}

// Execs ------------------------------------------------------------------------------------------

void FakeExecs::on_start(Hook hook) {
  const std::lock_guard lock(mutex_);
  hook_ = std::move(hook);
}

Result<docker::ExecStream> FakeExecs::start(const std::string& id, const Strings& command,
                                            const std::string& /*user*/) {
  if (auto fault = calls_.enter("exec", id, containers_.name_of(id))) return *fault;
  const auto container = containers_.find(id);
  if (!container) return not_found("exec", id);
  if (container->state != ContainerState::Running)
    return Error{ErrorKind::Conflict, "exec " + id, "the container is not running"};
  std::unique_lock lock(mutex_);
  const auto hook = hook_;
  lock.unlock();
  if (!hook) return Error{ErrorKind::Unavailable, "exec " + id, "no hook is set for exec"};
  return hook(*container, command);
}

}  // namespace kindlb::testing
