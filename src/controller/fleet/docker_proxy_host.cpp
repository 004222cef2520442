#include "fleet/docker_proxy_host.hpp"

#include "kindlb/proxy/image.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

namespace kindlb::controller {

namespace {

bool has_ipv6(const docker::Network& network) {
  return std::any_of(network.subnets.begin(), network.subnets.end(), [](const auto& subnet) {
    return subnet.cidr.address.family() == core::IpFamily::V6;
  });
}

}  // namespace

DockerProxyHost::DockerProxyHost(docker::Engine& engine, std::string image, std::string pool)
    : engine_(engine),
      image_(std::move(image)),
      pool_(std::move(pool)),
      hub_({.on_message =
                [this](const std::string& id, protocol::Message message) {
                  const std::lock_guard lock(listener_mutex_);
                  if (listener_ != nullptr) listener_->on_agent_message(id, std::move(message));
                },
            .on_closed =
                [this](const std::string& id, const std::string& reason) {
                  const std::lock_guard lock(listener_mutex_);
                  if (listener_ != nullptr) listener_->on_channel_closed(id, reason);
                }}) {}

void DockerProxyHost::set_listener(Listener* listener) {
  const std::lock_guard lock(listener_mutex_);
  listener_ = listener;
}

HostedProxy DockerProxyHost::hosted(const proxy::Proxy& proxy) const {
  HostedProxy out;
  out.id = proxy.id;
  out.name = proxy.name;
  out.network = proxy.network;
  out.paused = proxy.state == docker::ContainerState::Paused;
  out.running = out.paused || proxy.state == docker::ContainerState::Running;
  out.attached = proxy.attached;
  out.current = proxy.agent == proxy::image_hash(image_);
  out.own_pool = proxy.pool == pool_;
  return out;
}

void DockerProxyHost::cache_proxy(const proxy::Proxy& proxy) {
  const std::lock_guard lock(mutex_);
  known_.insert_or_assign(proxy.id, proxy);
}

proxy::Proxy DockerProxyHost::cached_proxy(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(id);
  return found == known_.end() ? proxy::Proxy{.id = id} : found->second;
}

core::Result<std::vector<HostedProxy>> DockerProxyHost::list() {
  auto proxies = proxy::list_proxies(engine_.containers());
  if (!proxies.ok()) return proxies.error();
  std::vector<HostedProxy> out;
  for (const auto& proxy : *proxies) {
    cache_proxy(proxy);
    out.push_back(hosted(proxy));
  }
  read_states(out);
  return out;
}

core::Result<HostedProxy> DockerProxyHost::inspect(const std::string& id) {
  const auto inspected = proxy::inspect_proxy(engine_.containers(), id);
  if (!inspected.ok()) return inspected.error();
  auto out = hosted(inspected->proxy);
  out.suspended = inspected->suspended;
  return out;
}

/// Several at a time: after a restart of kindlb, every Service waits for this.
void DockerProxyHost::read_states(std::vector<HostedProxy>& proxies) {
  constexpr std::size_t kReaders = 4;
  std::atomic<std::size_t> next = 0;
  const auto read = [&] {
    for (auto i = next++; i < proxies.size(); i = next++)
      if (auto state = proxy::read_state(engine_.files(), proxies[i].id); state.ok())
        proxies[i].state = std::move(state).value();
  };
  std::vector<std::jthread> readers;
  for (std::size_t i = 1; i < std::min(kReaders, proxies.size()); ++i) readers.emplace_back(read);
  read();
}

core::Result<std::uint32_t> DockerProxyHost::reserve_uid() {
  const auto proxies = proxy::list_proxies(engine_.containers());
  if (!proxies.ok()) return proxies.error();
  const std::lock_guard lock(mutex_);
  auto in_use = reserved_uids_;
  for (const auto& proxy : *proxies) in_use.insert(proxy.uid);
  // The engine's answer may lack proxies that another thread has created since.
  for (const auto& [id, proxy] : known_) in_use.insert(proxy.uid);
  const auto uid = proxy::choose_uid(in_use);
  reserved_uids_.insert(uid);
  return uid;
}

core::Result<HostedProxy> DockerProxyHost::create(const std::string& network) {
  const auto facts = engine_.networks().inspect(network);
  if (!facts.ok()) return facts.error();
  const auto uid = reserve_uid();
  if (!uid.ok()) return uid.error();
  proxy::CreateOptions options;
  options.image = image_;
  options.network = network;
  options.ipv6 = has_ipv6(*facts);
  options.uid = *uid;
  options.tag = proxy::random_tag();
  options.pool = pool_;
  const auto created = create_reserved(options);
  if (!created.ok()) return created.error();
  auto out = hosted(*created);
  out.running = true;
  return out;
}

/// Create a proxy whose uid is reserved. Meanwhile its volume, too, belongs to nobody else.
core::Result<proxy::Proxy> DockerProxyHost::create_reserved(const proxy::CreateOptions& options) {
  const auto volume = proxy::volume_name(options.tag);
  {
    const std::lock_guard lock(mutex_);
    reserved_volumes_.insert(volume);
  }
  auto created = proxy::create_proxy(engine_.containers(), engine_.volumes(), options);
  if (created.ok()) cache_proxy(*created);
  const std::lock_guard lock(mutex_);
  reserved_uids_.erase(options.uid);
  reserved_volumes_.erase(volume);
  return created;
}

core::Result<void> DockerProxyHost::start(const std::string& id) {
  return proxy::start_proxy(engine_.containers(), cached_proxy(id));
}

core::Result<void> DockerProxyHost::rename(const std::string& id, const std::string& owner,
                                           const std::string& unit) {
  const auto key = protocol::parse_owner(owner).value_or(core::ServiceKey{"", "", owner});
  return engine_.containers().rename(id, proxy::claimed_name(key, unit));
}

core::Result<void> DockerProxyHost::rename_shared(const std::string& id, const std::string& cluster,
                                                  unsigned number) {
  return engine_.containers().rename(id, proxy::shared_name(cluster, number));
}

core::Result<void> DockerProxyHost::remove(const std::string& id) {
  auto removed = proxy::remove_proxy(engine_.containers(), engine_.volumes(), cached_proxy(id));
  if (!removed.ok()) return removed;
  const std::lock_guard lock(mutex_);
  known_.erase(id);
  return removed;
}

/// In this order, so that no volume that is being given its container is taken for an orphan: a
/// volume in the list was reserved when it was made, and is so until its container is listed.
core::Result<void> DockerProxyHost::remove_orphans() {
  const auto volumes = engine_.volumes().list({std::string(proxy::kProxyLabel) + "=1"});
  if (!volumes.ok()) return volumes.error();
  std::set<std::string> reserved;
  {
    const std::lock_guard lock(mutex_);
    reserved = reserved_volumes_;
  }
  const auto proxies = proxy::list_proxies(engine_.containers());
  if (!proxies.ok()) return proxies.error();
  core::Result<void> out;
  for (const auto& name : proxy::orphaned_volumes(*volumes, *proxies, reserved, pool_))
    if (auto removed = engine_.volumes().remove(name);
        !removed.ok() && removed.error().kind != core::ErrorKind::NotFound)
      out = removed.error();
  return out;
}

core::Result<void> DockerProxyHost::connect(const std::string& id) {
  auto stream = proxy::connect_agent(engine_.execs(), id);
  if (!stream.ok()) return stream.error();
  hub_.open(id, std::move(stream).value());
  return {};
}

bool DockerProxyHost::send(const std::string& id, const protocol::Message& message) {
  return hub_.send(id, message);
}

void DockerProxyHost::disconnect(const std::string& id) {
  hub_.close(id);
}

}  // namespace kindlb::controller
