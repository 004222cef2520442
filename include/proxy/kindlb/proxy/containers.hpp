#pragma once
// A proxy container on the engine: its name and labels, and how it is created, found again and
// removed. What it serves is not known here (see protocol.hpp). Functions that take a part of
// the engine block; all may be called from several threads at once.
//
// All state of a proxy is outside of kindlb, so that any later kindlb can adopt it:
//  - labels, fixed at creation, say what the container is: ours, its network, its uid, its image,
//    its volume, its pool. A container without kProxyLabel is never touched;
//  - the name, which the engine changes atomically, says what it is used for, and is unique on the
//    engine: two kindlbs that give the same name collide there instead of serving both;
//  - the volume holds the agent's state, which alone says what the proxy serves.
// Labels, forms of names and the volume's layout are persistent: an upgrade must recognise what an
// older version left behind.

#include "kindlb/core/service.hpp"
#include "kindlb/docker/container_files.hpp"
#include "kindlb/docker/containers.hpp"
#include "kindlb/docker/execs.hpp"
#include "kindlb/docker/volumes.hpp"
#include "kindlb/protocol/protocol.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kindlb::proxy {

inline constexpr const char* kProxyLabel = "kindlb.dev/proxy";      ///< "1" on all that is ours
inline constexpr const char* kNetworkLabel = "kindlb.dev/network";  ///< docker network's name
inline constexpr const char* kUidLabel = "kindlb.dev/uid";          ///< Envoy's uid
inline constexpr const char* kAgentLabel = "kindlb.dev/agent";      ///< hash of the proxy image
inline constexpr const char* kVolumeLabel = "kindlb.dev/volume";    ///< the state volume's name
inline constexpr const char* kPoolLabel = "kindlb.dev/pool";        ///< of the kindlb that made it

/// As a name tells it. For people: the fleet goes by what the agent holds.
enum class Role { Warm, Claimed, Shared };

/// What a container's name says. `tag` is 8 hexadecimal digits: random while warm, the Service's
/// (see service_tag) once claimed. A shared proxy has its cluster and a number instead.
struct ProxyName {
  Role role = Role::Warm;
  std::string tag;
  std::string cluster;  ///< as far as a container's name can hold it
  unsigned number = 0;  ///< from 1; 0: not shared

  bool operator==(const ProxyName&) const = default;
};

// Each builder of names has its inverse in parse_name(). The forms cannot be confused: a number has
// fewer digits than a tag.
/// "kindlb-warm-<tag>"
std::string warm_name(const std::string& tag);
/// "kindlb-<cluster>-<namespace>-<name>-<tag of the uid>", at most 128 safe characters.
std::string claimed_name(const core::ServiceKey& owner, const std::string& service_uid);
/// "kindlb-shared-<cluster>-<number>"
std::string shared_name(const std::string& cluster, unsigned number);
/// Return a hash of the uid, so that a Service that is deleted and created again under the same
/// name gets a container with another name.
std::string service_tag(const std::string& service_uid);
std::optional<ProxyName> parse_name(const std::string& name);

/// "kindlb-<tag>", by the tag that the proxy had when it was created. A volume cannot be renamed,
/// so it keeps that name; kVolumeLabel tells it later on.
std::string volume_name(const std::string& tag);
std::optional<std::string> parse_volume_name(const std::string& name);  ///< the tag

/// Return 8 random hexadecimal digits.
std::string random_tag();

/// A proxy container as its name and labels describe it.
struct Proxy {
  std::string id;
  std::string name;
  std::optional<ProxyName> role;  ///< nothing: renamed by a user
  docker::ContainerState state = docker::ContainerState::Created;
  std::string network;
  std::uint32_t uid = 0;  ///< 0: unreadable
  std::string agent;
  std::string volume;
  std::string pool;
  bool attached = true;  ///< to its network; somebody may have disconnected it
};

/// Read name and labels. Nothing for a container without our label.
std::optional<Proxy> parse_proxy(const docker::Container& container);

/// The kernel limits inotify instances per uid, across containers, and each file that Envoy watches
/// takes one. So every proxy's Envoy has a uid of its own, else they would starve each other.
inline constexpr std::uint32_t kFirstUid = 200'000;
/// Return the smallest uid from kFirstUid on that is not in use.
std::uint32_t choose_uid(const std::set<std::uint32_t>& in_use);

/// How to create a proxy.
struct CreateOptions {
  std::string image;  ///< from ensure_proxy_image
  std::string network;
  bool ipv6 = false;  ///< the network has an IPv6 subnet
  std::uint32_t uid = kFirstUid;
  std::string tag;   ///< from random_tag
  std::string pool;  ///< of the kindlb that may use it
  std::int64_t memory_bytes = std::int64_t{256} << 20;
  std::int64_t pids_limit = 64;
};

/// Return the container that create_proxy() asks the engine for. Pure.
docker::ContainerSpec container_spec(const CreateOptions& options);

/// Create and start a warm proxy. On failure nothing of it stays behind.
core::Result<Proxy> create_proxy(docker::Containers& containers, docker::Volumes& volumes,
                                 const CreateOptions& options);
/// Return all proxies of any kindlb on this engine, running or not.
core::Result<std::vector<Proxy>> list_proxies(docker::Containers& containers);
/// What the engine says of one proxy.
struct InspectedProxy {
  Proxy proxy;
  bool suspended = false;  ///< its agent was stopped by a signal, such as SIGSTOP
};
/// Look at a proxy whose agent is silent. NotFound: it is gone, or is no proxy.
core::Result<InspectedProxy> inspect_proxy(docker::Containers& containers, const std::string& id);
core::Result<void> start_proxy(docker::Containers& containers, const Proxy& proxy);
/// Return the names of that pool's volumes which no proxy has: kindlb was killed between making a
/// volume and its container, or between removing them. `kept`: of proxies that are being created.
/// Volumes of earlier releases name no pool, and count as everybody's.
std::vector<std::string> orphaned_volumes(const std::vector<docker::Volume>& volumes,
                                          const std::vector<Proxy>& proxies,
                                          const std::set<std::string>& kept,
                                          const std::string& pool);

/// Remove the container, then its volume. What does not exist counts as removed, so that a removal
/// that failed half-way can be repeated.
core::Result<void> remove_proxy(docker::Containers& containers, docker::Volumes& volumes,
                                const Proxy& proxy);
/// Return the state that the agent wrote last, whether the container runs or not: from the summary
/// link if it is there, else from the file.
core::Result<protocol::AgentState> read_state(docker::ContainerFiles& files, const std::string& id);
/// Open a stream to the agent's socket, for ChannelHub::open. The engine runs `kindlb-agent
/// connect` in the container for it, so no port is opened.
core::Result<docker::ExecStream> connect_agent(docker::Execs& execs, const std::string& id);

}  // namespace kindlb::proxy
