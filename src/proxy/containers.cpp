#include "kindlb/proxy/containers.hpp"

#include "kindlb/base/number.hpp"
#include "kindlb/proxy/image.hpp"

#include <algorithm>
#include <utility>

namespace kindlb::proxy {

using core::Error;
using core::ErrorKind;
using core::Result;

namespace {

std::string label_of(const docker::Labels& labels, const char* key) {
  const auto found = labels.find(key);
  return found == labels.end() ? std::string() : found->second;
}

std::map<std::string, std::string> sysctls_for(const CreateOptions& options) {
  std::map<std::string, std::string> out = {
      // Envoy runs without capabilities and must still open port 80.
      {"net.ipv4.ip_unprivileged_port_start", "0"},
      // An address that moves here is announced, because neighbours have cached its former owner.
      {"net.ipv4.conf.all.arp_notify", "1"},
      {"net.ipv4.conf.default.arp_notify", "1"},
  };
  // Only where there is IPv6: the files do not exist on a kernel without it.
  if (options.ipv6) {
    out.emplace("net.ipv6.conf.all.ndisc_notify", "1");
    out.emplace("net.ipv6.conf.default.ndisc_notify", "1");
  }
  return out;
}

/// Removing what does not exist is a success.
Result<void> ignore_not_found(Result<void> removed) {
  if (!removed && removed.error().kind == ErrorKind::NotFound) return {};
  return removed;
}

/// A network may be named by its id, too.
bool is_attached(const docker::Container& container, const std::string& network) {
  return std::any_of(container.networks.begin(), container.networks.end(), [&](const auto& one) {
    return one.network == network || one.network_id == network;
  });
}

/// An engine that cannot list processes leaves it open: then the agent is not known to be
/// suspended.
bool is_suspended(docker::Containers& containers, const docker::Container& container) {
  const auto processes = containers.processes(container.id);
  if (!processes) return false;
  return std::any_of(processes->begin(), processes->end(), [&](const auto& one) {
    return one.pid == container.pid && one.state.starts_with('T');
  });
}

/// Create the container; its volume exists, and nothing runs yet.
Result<Proxy> make_container(docker::Containers& containers, const docker::ContainerSpec& spec) {
  const auto id = containers.create(spec);
  if (!id) return id.error();
  auto proxy = parse_proxy({.id = *id,
                            .name = spec.name,
                            .labels = spec.labels,
                            .networks = {{.network = spec.network}}});
  KINDLB_ASSERT(proxy.has_value());
  return *std::move(proxy);
}

}  // namespace

std::optional<Proxy> parse_proxy(const docker::Container& container) {
  if (label_of(container.labels, kProxyLabel) != "1") return std::nullopt;
  auto network = label_of(container.labels, kNetworkLabel);
  const bool attached = is_attached(container, network);
  return Proxy{
      .id = container.id,
      .name = container.name,
      .role = parse_name(container.name),
      .state = container.state,
      .network = std::move(network),
      .uid = base::parse_number<std::uint32_t>(label_of(container.labels, kUidLabel)).value_or(0),
      .agent = label_of(container.labels, kAgentLabel),
      .volume = label_of(container.labels, kVolumeLabel),
      .pool = label_of(container.labels, kPoolLabel),
      .attached = attached};
}

std::uint32_t choose_uid(const std::set<std::uint32_t>& in_use) {
  auto uid = kFirstUid;
  for (auto used = in_use.lower_bound(uid); used != in_use.end() && *used == uid; ++used) ++uid;
  return uid;
}

docker::ContainerSpec container_spec(const CreateOptions& options) {
  const auto volume = volume_name(options.tag);
  const auto uid = std::to_string(options.uid);
  return {.name = warm_name(options.tag),
          .image = options.image,
          .environment = {std::string(protocol::kEnvoyUidEnv) + "=" + uid},
          .labels = {{kProxyLabel, "1"},
                     {kNetworkLabel, options.network},
                     {kUidLabel, uid},
                     {kAgentLabel, image_hash(options.image)},
                     {kVolumeLabel, volume},
                     {kPoolLabel, options.pool}},
          .network = options.network,
          .volumes = {{volume, protocol::kStateDir}},
          .sysctls = sysctls_for(options),
          // For the agent: addresses, routes and nf_tables; switching to Envoy's uid; giving Envoy
          // its files; ending it. Envoy itself gets none.
          .capabilities_add = {"NET_ADMIN", "SETUID", "SETGID", "CHOWN", "KILL"},
          .capabilities_drop = {"ALL"},
          .read_only_root = true,
          .no_new_privileges = true,
          .memory_bytes = options.memory_bytes,
          .pids_limit = options.pids_limit};
}

Result<Proxy> create_proxy(docker::Containers& containers, docker::Volumes& volumes,
                           const CreateOptions& options) {
  const auto spec = container_spec(options);
  const auto volume = volume_name(options.tag);
  const auto created =
      volumes.create({.name = volume, .labels = {{kProxyLabel, "1"}, {kPoolLabel, options.pool}}});
  if (!created) return created.error();
  auto proxy = make_container(containers, spec);
  if (!proxy) {
    (void)volumes.remove(volume);
    return proxy;
  }
  if (const auto started = containers.start(proxy->id); !started) {
    (void)remove_proxy(containers, volumes, *proxy);
    return started.error();
  }
  proxy->state = docker::ContainerState::Running;
  return proxy;
}

Result<std::vector<Proxy>> list_proxies(docker::Containers& containers) {
  const auto found = containers.list({std::string(kProxyLabel) + "=1"});
  if (!found) return found.error();
  std::vector<Proxy> out;
  for (const auto& container : *found)
    if (auto proxy = parse_proxy(container)) out.push_back(*std::move(proxy));
  return out;
}

Result<InspectedProxy> inspect_proxy(docker::Containers& containers, const std::string& id) {
  const auto container = containers.inspect(id);
  if (!container) return container.error();
  auto proxy = parse_proxy(*container);
  if (!proxy) return Error{ErrorKind::NotFound, "inspect proxy " + id, "it is not a proxy"};
  const bool runs = proxy->state == docker::ContainerState::Running;
  return InspectedProxy{*std::move(proxy), runs && is_suspended(containers, *container)};
}

Result<void> start_proxy(docker::Containers& containers, const Proxy& proxy) {
  return containers.start(proxy.id);
}

std::vector<std::string> orphaned_volumes(const std::vector<docker::Volume>& volumes,
                                          const std::vector<Proxy>& proxies,
                                          const std::set<std::string>& kept,
                                          const std::string& pool) {
  auto used = kept;
  for (const auto& proxy : proxies) used.insert(proxy.volume);
  std::vector<std::string> out;
  for (const auto& volume : volumes) {
    const auto owner = label_of(volume.labels, kPoolLabel);
    const bool ours = parse_volume_name(volume.name) && (owner.empty() || owner == pool);
    if (ours && !used.contains(volume.name)) out.push_back(volume.name);
  }
  return out;
}

Result<void> remove_proxy(docker::Containers& containers, docker::Volumes& volumes,
                          const Proxy& proxy) {
  if (auto removed = ignore_not_found(containers.remove(proxy.id)); !removed) return removed;
  if (!parse_volume_name(proxy.volume)) return {};  // never remove what we did not name
  return ignore_not_found(volumes.remove(proxy.volume));
}

Result<protocol::AgentState> read_state(docker::ContainerFiles& files, const std::string& id) {
  if (const auto link = files.read_link(id, protocol::kSummaryLink); link.ok())
    if (auto state = protocol::decode_summary(*link)) return *std::move(state);
  const auto text = files.read_file(id, protocol::kStateFile);
  if (!text) return text.error();
  auto state = protocol::decode_state(*text);
  if (!state)
    return Error{ErrorKind::Protocol, "read the agent's state", "its state file is malformed"};
  return *std::move(state);
}

Result<docker::ExecStream> connect_agent(docker::Execs& execs, const std::string& id) {
  return execs.start(id, {protocol::kAgentPath, "connect"}, "0");
}

}  // namespace kindlb::proxy
