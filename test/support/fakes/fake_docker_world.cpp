// FakeEngine's small world: ids, states, addresses on networks, events, and what a test may change.
#include "kindlb/core/assert.hpp"
#include "kindlb/core/hash.hpp"
#include "support/fakes/fake_docker.hpp"

#include <algorithm>

namespace kindlb::testing {

using docker::ContainerState;

// Setting the stage ------------------------------------------------------------------------------

void FakeEngine::add_image(const std::string& reference) {
  const std::lock_guard lock(mutex_);
  images_[reference].image = {.id = "sha256:" + new_id(), .tags = {reference}};
}

std::string FakeEngine::add_network(const docker::NetworkSpec& spec) {
  const std::lock_guard lock(mutex_);
  return insert_network(spec);
}

std::string FakeEngine::add_container(const docker::ContainerSpec& spec) {
  const std::lock_guard lock(mutex_);
  const auto id = insert_container(spec);
  start(containers_.at(id));
  return id;
}

void FakeEngine::set_file(const std::string& id_or_name, const std::string& path,
                          const std::string& content) {
  const std::lock_guard lock(mutex_);
  auto* box = find(id_or_name);
  KINDLB_ASSERT(box != nullptr);
  box->files[path] = content;
}

void FakeEngine::on_exec(ExecHook hook) {
  const std::lock_guard lock(mutex_);
  exec_hook_ = std::move(hook);
}

void FakeEngine::on_call(CallHook hook) {
  const std::lock_guard lock(mutex_);
  call_hook_ = std::move(hook);
}

void FakeEngine::fail_next(const std::string& operation, core::Error error, int times) {
  const std::lock_guard lock(mutex_);
  for (int i = 0; i < times; ++i) faults_[operation].push_back(error);
}

void FakeEngine::add_to_registry(const std::string& reference) {
  const std::lock_guard lock(mutex_);
  registry_.insert(reference);
}

void FakeEngine::die(const std::string& id_or_name) {
  const std::lock_guard lock(mutex_);
  if (auto* box = find(id_or_name)) stop(*box);
}

void FakeEngine::vanish(const std::string& id_or_name) {
  const std::lock_guard lock(mutex_);
  if (const auto* box = find(id_or_name)) erase(std::string(box->seen.id));
}

void FakeEngine::emit(docker::Event event) {
  const std::lock_guard lock(mutex_);
  publish(std::move(event));
}

void FakeEngine::break_events() {
  const std::lock_guard lock(mutex_);
  for (auto& subscriber : subscribers_) subscriber.broken = true;
  wake_.notify_all();
}

// Looking ----------------------------------------------------------------------------------------

FakeEngine::Strings FakeEngine::journal() const {
  const std::lock_guard lock(mutex_);
  return journal_;
}

void FakeEngine::clear_journal() {
  const std::lock_guard lock(mutex_);
  journal_.clear();
}

std::size_t FakeEngine::count(const std::string& operation) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(
      journal_, [&](const auto& entry) { return entry.starts_with(operation + " "); }));
}

std::optional<docker::ContainerSpec> FakeEngine::spec_of(const std::string& id_or_name) const {
  const std::lock_guard lock(mutex_);
  const auto* box = find(id_or_name);
  return box == nullptr ? std::nullopt : std::optional(box->spec);
}

std::optional<docker::Container> FakeEngine::container(const std::string& id_or_name) const {
  const std::lock_guard lock(mutex_);
  const auto* box = find(id_or_name);
  return box == nullptr ? std::nullopt : std::optional(box->seen);
}

std::optional<std::string> FakeEngine::build_context(const std::string& tag) const {
  const std::lock_guard lock(mutex_);
  const auto found = images_.find(tag);
  return found == images_.end() ? std::nullopt : std::optional(found->second.context);
}

std::size_t FakeEngine::subscribers() const {
  const std::lock_guard lock(mutex_);
  return subscribers_.size();
}

// The world's rules; the lock is held
// --------------------------------------------------------------

std::string FakeEngine::new_id() {
  const auto number = std::to_string(++ids_);
  return core::hex(core::fnv1a("id" + number)) + core::hex(core::fnv1a(number)) +
         core::hex(core::fnv1a("x" + number)) + core::hex(core::fnv1a("y" + number));
}

const FakeEngine::Box* FakeEngine::find(const std::string& id_or_name) const {
  const auto by_id = containers_.find(id_or_name);
  if (by_id != containers_.end()) return &by_id->second;
  for (const auto& [id, box] : containers_)
    if (box.seen.name == id_or_name) return &box;
  return nullptr;
}

FakeEngine::Box* FakeEngine::find(const std::string& id_or_name) {
  return const_cast<Box*>(std::as_const(*this).find(id_or_name));  // NOLINT
}

docker::Network* FakeEngine::find_network(const std::string& name_or_id) {
  for (auto& [id, network] : networks_)
    if (id == name_or_id || network.name == name_or_id) return &network;
  return nullptr;
}

std::string FakeEngine::insert_network(const docker::NetworkSpec& spec) {
  docker::Network network{.id = new_id(),
                          .name = spec.name,
                          .driver = "bridge",
                          .labels = spec.labels,
                          .subnets = spec.subnets};
  const auto number = static_cast<std::uint32_t>(18 + networks_.size());
  if (network.subnets.empty()) {
    const auto base = core::IpAddress::v4((172U << 24U) | (number << 16U));
    network.subnets.push_back({.cidr = {base, 16}, .gateway = base.next()});
  }
  publish({.type = "network",
           .action = "create",
           .id = network.id,
           .attributes = {{"name", network.name}}});
  return networks_.emplace(network.id, network).first->first;
}

std::string FakeEngine::insert_container(const docker::ContainerSpec& spec) {
  Box box;
  box.spec = spec;
  box.seen.id = new_id();
  box.seen.name = spec.name;
  box.seen.image = spec.image;
  const auto image = images_.find(spec.image);
  if (image != images_.end()) box.seen.image_id = image->second.image.id;
  box.seen.labels = spec.labels;
  if (!spec.network.empty()) box.seen.networks = {{.network = spec.network}};
  publish(box, "create");
  return containers_.emplace(box.seen.id, box).first->first;
}

void FakeEngine::start(Box& box) {
  if (box.seen.state == ContainerState::Running) return;
  attach(box);
  box.seen.state = ContainerState::Running;
  publish(box, "start");
}

void FakeEngine::stop(Box& box) {
  if (box.seen.state != ContainerState::Running) return;
  detach(box);
  box.seen.state = ContainerState::Exited;
  publish(box, "die");
}

void FakeEngine::erase(const std::string& id) {
  auto& box = containers_.at(id);
  stop(box);
  publish(box, "destroy");
  containers_.erase(id);
}

void FakeEngine::attach(Box& box) {
  auto* network = find_network(box.spec.network);
  if (network == nullptr) return;
  docker::NetworkMember member{.container_id = box.seen.id, .name = box.seen.name};
  for (const auto& subnet : network->subnets) {
    const auto family = subnet.cidr.address.family();
    const auto address = free_address(*network, family);
    if (!address) continue;
    (family == core::IpFamily::V4 ? member.ipv4 : member.ipv6) = {*address, subnet.cidr.length};
  }
  docker::Attachment end{.network = network->name, .network_id = network->id};
  if (member.ipv4) end.ipv4 = member.ipv4->address;
  if (member.ipv6) end.ipv6 = member.ipv6->address;
  box.seen.networks = {end};
  network->members.push_back(member);
}

void FakeEngine::detach(Box& box) {
  for (auto& end : box.seen.networks) end.ipv4 = end.ipv6 = std::nullopt;
  if (auto* network = find_network(box.spec.network))
    std::erase_if(network->members, [&](const auto& m) { return m.container_id == box.seen.id; });
}

bool FakeEngine::is_taken(const docker::Network& network, const core::IpAddress& address) const {
  const auto holds = [&](const auto& cidr) { return cidr && cidr->address == address; };
  return std::ranges::any_of(network.subnets,
                             [&](const auto& s) { return s.gateway && *s.gateway == address; }) ||
         std::ranges::any_of(network.members,
                             [&](const auto& m) { return holds(m.ipv4) || holds(m.ipv6); });
}

/// The lowest free address, as the engine's own allocator starts out.
std::optional<core::IpAddress> FakeEngine::free_address(const docker::Network& network,
                                                        core::IpFamily family) const {
  for (const auto& subnet : network.subnets) {
    if (subnet.cidr.address.family() != family) continue;
    auto address = subnet.cidr.first().next();
    while (address && is_taken(network, *address)) address = address->next();
    if (address && subnet.cidr.contains(*address)) return address;
  }
  return std::nullopt;
}

bool FakeEngine::volume_in_use(const std::string& name) const {
  return std::ranges::any_of(containers_, [&](const auto& entry) {
    return std::ranges::any_of(entry.second.spec.volumes,
                               [&](const auto& mount) { return mount.volume == name; });
  });
}

void FakeEngine::publish(docker::Event event) {
  event.time_nano = ++clock_;
  for (auto& subscriber : subscribers_) subscriber.queue.push_back(event);
  wake_.notify_all();
}

void FakeEngine::publish(const Box& box, const std::string& action) {
  auto attributes = box.seen.labels;
  attributes["name"] = box.seen.name;
  attributes["image"] = box.seen.image;
  publish({.type = "container",
           .action = action,
           .id = box.seen.id,
           .attributes = std::move(attributes)});
}

core::Result<void> FakeEngine::events(const std::function<void()>& on_open,
                                      const std::function<void(const docker::Event&)>& on_event,
                                      std::stop_token stop) {
  if (auto fault = enter("events", "")) return *fault;
  std::unique_lock lock(mutex_);
  const auto self = subscribers_.emplace(subscribers_.end());
  lock.unlock();
  if (on_open) on_open();
  lock.lock();
  while (wake_.wait(lock, stop, [&] { return self->broken || !self->queue.empty(); })) {
    if (self->queue.empty()) break;  // broken, and everything before it delivered
    const auto event = self->queue.front();
    self->queue.pop_front();
    lock.unlock();
    on_event(event);
    lock.lock();
  }
  const bool broken = self->broken;
  subscribers_.erase(self);
  if (broken) return core::Error{core::ErrorKind::Unavailable, "events", "the stream broke"};
  return core::Error{core::ErrorKind::Cancelled, "events", "stop requested"};
}

}  // namespace kindlb::testing
