#pragma once
// The life of a proxy container on the engine: its name, its labels, how it is made, found again
// and removed. What it serves is not known here (see protocol.hpp). Functions that take an engine
// block; all may be called from many threads at once.

#include "kindlb/core/service.hpp"
#include "kindlb/docker/engine.hpp"
#include "kindlb/protocol/protocol.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kindlb::proxy {

// Labels never change after creation: they tell what a container is. Its name, which can change
// atomically, tells what it does.
inline constexpr const char* kProxyLabel = "kindlb.dev/proxy";      ///< "1" on all that is ours
inline constexpr const char* kNetworkLabel = "kindlb.dev/network";  ///< docker network's name
inline constexpr const char* kUidLabel = "kindlb.dev/uid";          ///< Envoy's uid
inline constexpr const char* kAgentLabel = "kindlb.dev/agent";      ///< hash of the proxy image
inline constexpr const char* kVolumeLabel = "kindlb.dev/volume";    ///< the state volume's name
inline constexpr const char* kPoolLabel = "kindlb.dev/pool";        ///< whose, while it is warm

enum class Role { Warm, Claimed, Shared };

/// What a container's name says. `tag` is 8 hexadecimal digits: random while warm, the Service's
/// (see service_tag) once claimed. One that serves many has its cluster and a number instead.
struct ProxyName {
  Role role = Role::Warm;
  std::string tag;
  std::string cluster;  ///< as far as a container's name can hold it
  unsigned number = 0;  ///< from 1; 0: not shared

  bool operator==(const ProxyName&) const = default;
};

std::string warm_name(const std::string& tag);
/// "kindlb-<cluster>-<namespace>-<name>-<tag of the uid>", at most 128 safe characters.
std::string claimed_name(const core::ServiceKey& owner, const std::string& service_uid);
/// "kindlb-shared-<cluster>-<number>"
std::string shared_name(const std::string& cluster, unsigned number);
std::string service_tag(const std::string& service_uid);
std::optional<ProxyName> parse_name(const std::string& name);

std::string volume_name(const std::string& tag);
std::optional<std::string> parse_volume_name(const std::string& name);  ///< the tag

/// 8 hexadecimal digits nobody else has drawn.
std::string random_tag();

struct Proxy {
  std::string id;
  std::string name;
  std::optional<ProxyName> role;  ///< nothing: somebody renamed it
  docker::ContainerState state = docker::ContainerState::Created;
  std::string network;
  std::uint32_t uid = 0;  ///< 0: unreadable
  std::string agent;
  std::string volume;
  std::string pool;
};

/// Nothing for a container that is not ours.
std::optional<Proxy> parse_proxy(const docker::Container& container);

/// The kernel allows a number of inotify instances per uid, and each of Envoy's file subscriptions
/// takes one: so every proxy has its own uid.
inline constexpr std::uint32_t kFirstUid = 200'000;
/// The smallest one not in use.
std::uint32_t choose_uid(const std::set<std::uint32_t>& in_use);

struct CreateOptions {
  std::string image;  ///< from ensure_proxy_image
  std::string network;
  bool ipv6 = false;  ///< the network has an IPv6 subnet
  std::uint32_t uid = kFirstUid;
  std::string tag;   ///< from random_tag
  std::string pool;  ///< of the kindlb that may give it to a Service
  std::int64_t memory_bytes = std::int64_t{256} << 20;
  std::int64_t pids_limit = 64;
};

/// Pure; create_proxy uses it.
docker::ContainerSpec container_spec(const CreateOptions& options);

/// A warm proxy, started. On failure nothing of it stays behind.
core::Result<Proxy> create_proxy(docker::Engine& engine, const CreateOptions& options);
/// All proxies of kindlb on this engine, running or not.
core::Result<std::vector<Proxy>> list_proxies(docker::Engine& engine);
core::Result<void> start_proxy(docker::Engine& engine, const Proxy& proxy);
/// Container, then volume. One that is gone already counts as removed.
core::Result<void> remove_proxy(docker::Engine& engine, const Proxy& proxy);
/// What the agent wrote last; running or not.
core::Result<protocol::AgentState> read_state(docker::Engine& engine, const std::string& id);
/// A stream to the agent's socket, for ChannelHub::open.
core::Result<docker::ExecStream> connect_agent(docker::Engine& engine, const std::string& id);

}  // namespace kindlb::proxy
