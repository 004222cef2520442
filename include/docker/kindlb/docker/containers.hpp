#pragma once
// Containers of an engine: what they are and how they live. Their files and processes are in
// container_files.hpp and execs.hpp. See engine.hpp for what holds for all calls.

#include "kindlb/core/ip.hpp"
#include "kindlb/core/result.hpp"
#include "kindlb/docker/labels.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::docker {

/// A container's endpoint on a network. Without addresses while the container is not running.
struct Attachment {
  std::string network;  ///< its name
  std::string network_id;
  std::optional<core::IpAddress> ipv4;
  std::optional<core::IpAddress> ipv6;
};

/// A TCP port of the container that is published on the host.
struct PublishedPort {
  std::uint16_t container_port = 0;
  std::string host_ip;
  std::uint16_t host_port = 0;
};

/// The engine's own states; one that we do not know counts as Dead.
enum class ContainerState { Created, Running, Paused, Restarting, Removing, Exited, Dead };

/// As the list and the inspect call describe it. Both fill all fields, except where noted.
struct Container {
  std::string id;
  std::string name;      ///< without the leading slash
  std::string image;     ///< as given at creation
  std::string image_id;  ///< "sha256:..."
  ContainerState state = ContainerState::Created;
  Labels labels;
  std::vector<Attachment> networks;
  std::vector<PublishedPort> ports;
  /// Of its first process, on the engine's machine. Only inspecting tells; 0: not running.
  std::int64_t pid = 0;
};

/// A process of a container, as `ps` on the engine's machine shows it.
struct Process {
  std::int64_t pid = 0;
  std::string state;  ///< "Ss"; the first letter counts: T is stopped by a signal
};

/// A named volume and where it is mounted.
struct VolumeMount {
  std::string volume;
  std::string path;
};

/// What Containers::create() asks for. The restart policy is always "no".
struct ContainerSpec {
  std::string name;
  std::string image;
  std::vector<std::string> command;      ///< empty: the image's own
  std::vector<std::string> environment;  ///< "KEY=value"
  std::string user;                      ///< empty: the image's own
  Labels labels;
  std::string network;
  std::vector<VolumeMount> volumes;
  std::map<std::string, std::string> sysctls;
  std::vector<std::string> capabilities_add;
  std::vector<std::string> capabilities_drop;
  bool read_only_root = false;
  bool no_new_privileges = false;
  bool init = false;
  std::int64_t memory_bytes = 0;  ///< 0: no limit
  std::int64_t pids_limit = 0;    ///< 0: no limit
};

/// The containers of one engine. Thread-safe; lives as long as its Engine.
class Containers {
 public:
  virtual ~Containers() = default;

  /// List containers, running or not.
  virtual core::Result<std::vector<Container>> list(const std::vector<std::string>& labels) = 0;
  /// NotFound when there is no such container.
  virtual core::Result<Container> inspect(const std::string& id) = 0;
  /// List the processes of a running container. Not every engine can.
  virtual core::Result<std::vector<Process>> processes(const std::string& id) = 0;
  /// Create a container without starting it and return its id. Conflict: the name is taken;
  /// NotFound: the image is not on the engine, and is not pulled.
  virtual core::Result<std::string> create(const ContainerSpec& spec) = 0;
  /// Start a container; success if it runs already. Its address is assigned here, the lowest free
  /// one of its network.
  virtual core::Result<void> start(const std::string& id) = 0;
  /// Send SIGTERM, and SIGKILL after `grace`; success if it does not run. Blocks until it has
  /// ended.
  virtual core::Result<void> stop(const std::string& id, std::chrono::seconds grace) = 0;
  virtual core::Result<void> kill(const std::string& id, const std::string& signal) = 0;
  /// Rename a container, atomically: of two callers that want the same name, one gets Conflict.
  virtual core::Result<void> rename(const std::string& id, const std::string& name) = 0;
  /// Remove a container, running or not, and its anonymous volumes.
  virtual core::Result<void> remove(const std::string& id) = 0;
};

}  // namespace kindlb::docker
