#pragma once
// The Docker Engine API, typed, as far as a load balancer needs it: containers, their files and
// execs, networks, images, volumes, events. Values only: nothing here knows what a proxy is, and
// the structs hold the few fields that are used. Each call blocks; all may be made from many
// threads at once. The engine's own error text is kept in Error::detail, its meaning in Error::kind
// (404 NotFound, 409 Conflict, ...). The API version is negotiated: the highest both sides support.
// Where a parameter is called `id`, the engine accepts a name too.

#include "kindlb/core/ip.hpp"
#include "kindlb/core/result.hpp"
#include "kindlb/http/client.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace kindlb::docker {

using Labels = std::map<std::string, std::string>;

/// What the engine reports about itself, and the version we use with it.
struct EngineInfo {
  std::string version;      ///< "20.10.24"
  std::string api_version;  ///< the negotiated one: "1.41"
  std::string os;           ///< "linux"
};

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

/// As the list and the inspect call describe it. Both fill all fields.
struct Container {
  std::string id;
  std::string name;      ///< without the leading slash
  std::string image;     ///< as given at creation
  std::string image_id;  ///< "sha256:..."
  ContainerState state = ContainerState::Created;
  Labels labels;
  std::vector<Attachment> networks;
  std::vector<PublishedPort> ports;
};

/// A named volume and where it is mounted.
struct VolumeMount {
  std::string volume;
  std::string path;
};

/// What create_container() asks for. The restart policy is always "no".
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

/// One IPAM entry of a network.
struct Subnet {
  core::Cidr cidr;
  std::optional<core::IpAddress> gateway;
};

/// A running container on a network, as inspecting the network shows it.
struct NetworkMember {
  std::string container_id;
  std::string name;
  std::optional<core::Cidr> ipv4;
  std::optional<core::Cidr> ipv6;
};

/// As the list and the inspect call describe it.
struct Network {
  std::string id;
  std::string name;
  std::string driver;
  Labels labels;
  std::vector<Subnet> subnets;
  std::vector<NetworkMember> members;  ///< only in an inspected network
};

/// What create_network() asks for: a bridge network.
struct NetworkSpec {
  std::string name;
  Labels labels;
  std::vector<Subnet> subnets;  ///< empty: the engine chooses
  bool enable_ipv6 = false;
};

/// An image of the engine. Untagged ones have no tags.
struct Image {
  std::string id;
  std::vector<std::string> tags;
};

/// A named volume of the local driver.
struct Volume {
  std::string name;
  Labels labels;
};

/// A change of a container or a network.
struct Event {
  std::string type;    ///< "container", "network", ...
  std::string action;  ///< "start", "die", "destroy", "rename", ...
  std::string id;
  Labels attributes;  ///< labels and the name ("name")
  std::int64_t time_nano = 0;
};

/// Receives the output of an image pull or build, line by line.
using Progress = std::function<void(std::string_view)>;

/// The attached streams of an exec, on a hijacked connection. What is read is multiplexed (stdout
/// and stderr in frames): pass it through StreamDemux. What is written goes to the process's stdin
/// as it is. Closing the stream closes stdin; it does not kill the process.
using ExecStream = std::unique_ptr<http::Duplex>;

/// Thread-safe. An Engine stays usable when the daemon restarts: calls fail with Unavailable until
/// it is back, and connections are made anew.
class Engine {
 public:
  virtual ~Engine() = default;

  /// Ask the engine for its version anew: it may have been upgraded since connect().
  virtual core::Result<EngineInfo> info() = 0;

  /// List containers, running or not. `labels`: each "key" or "key=value"; all must match.
  virtual core::Result<std::vector<Container>> list_containers(
      const std::vector<std::string>& labels) = 0;
  /// NotFound when there is no such container.
  virtual core::Result<Container> inspect_container(const std::string& id) = 0;
  /// Create a container without starting it and return its id. Conflict: the name is taken;
  /// NotFound: the image is not on the engine, and is not pulled.
  virtual core::Result<std::string> create_container(const ContainerSpec& spec) = 0;
  /// Start a container; success if it runs already. Its address is assigned here, the lowest free
  /// one of its network.
  virtual core::Result<void> start_container(const std::string& id) = 0;
  /// Send SIGTERM, and SIGKILL after `grace`; success if it does not run. Blocks until it has
  /// ended.
  virtual core::Result<void> stop_container(const std::string& id, std::chrono::seconds grace) = 0;
  virtual core::Result<void> kill_container(const std::string& id, const std::string& signal) = 0;
  /// Rename a container, atomically: of two callers that want the same name, one gets Conflict.
  virtual core::Result<void> rename_container(const std::string& id, const std::string& name) = 0;
  /// Remove a container, running or not, and its anonymous volumes.
  virtual core::Result<void> remove_container(const std::string& id) = 0;

  /// Return the content of one regular file of a container, running or not. At most 16 MiB.
  virtual core::Result<std::string> read_file(const std::string& id, const std::string& path) = 0;
  /// Return the target of a symbolic link, resolved inside the container; the target need not
  /// exist. Costs the engine a small fraction of reading a file (one stat, no archive). Invalid:
  /// the path is not a link.
  virtual core::Result<std::string> read_link(const std::string& id, const std::string& path) = 0;
  /// Unpack an uncompressed tar (docker/tar.hpp) under `path`, which must exist.
  virtual core::Result<void> put_archive(const std::string& id, const std::string& path,
                                         const std::string& tar) = 0;

  /// Start `command` inside a running container with stdin, stdout and stderr attached, no tty. A
  /// command that cannot be started is not an error of this call: the engine has taken over the
  /// connection by then and writes its message into the stream, then closes it.
  virtual core::Result<ExecStream> exec(const std::string& id,
                                        const std::vector<std::string>& command,
                                        const std::string& user) = 0;

  virtual core::Result<std::vector<Network>> list_networks(
      const std::vector<std::string>& labels) = 0;
  virtual core::Result<Network> inspect_network(const std::string& name_or_id) = 0;
  /// Create a bridge network and return its id. Conflict: the name is taken; Denied: a subnet
  /// overlaps with another network's.
  virtual core::Result<std::string> create_network(const NetworkSpec& spec) = 0;
  /// Denied while containers are attached.
  virtual core::Result<void> remove_network(const std::string& name_or_id) = 0;

  /// NotFound when the image is not on the engine.
  virtual core::Result<Image> inspect_image(const std::string& reference) = 0;
  virtual core::Result<std::vector<Image>> list_images(const std::vector<std::string>& labels) = 0;
  /// Pull without credentials. A reference without tag or digest means "latest".
  virtual core::Result<void> pull_image(const std::string& reference, const Progress& progress,
                                        std::stop_token stop) = 0;
  /// Build from a tar with a Dockerfile at its root.
  virtual core::Result<void> build_image(const std::string& tag, const std::string& context_tar,
                                         const Labels& labels, const Progress& progress,
                                         std::stop_token stop) = 0;
  /// Conflict while a container uses it.
  virtual core::Result<void> remove_image(const std::string& reference) = 0;

  /// Create a volume and return its name; success if it exists already (the engine's semantics).
  virtual core::Result<std::string> create_volume(const Volume& volume) = 0;
  virtual core::Result<std::vector<Volume>> list_volumes(
      const std::vector<std::string>& labels) = 0;
  /// Conflict while a container, running or not, mounts it.
  virtual core::Result<void> remove_volume(const std::string& name) = 0;

  /// Block and call `on_event` for each event from now on, until a stop is requested or the
  /// connection breaks; always ends with an Error. `on_open` is called once the engine has accepted
  /// the subscription: list after it, and nothing that changes later is missed. Up to a second of
  /// the past may be repeated first.
  virtual core::Result<void> events(const std::function<void()>& on_open,
                                    const std::function<void(const Event&)>& on_event,
                                    std::stop_token stop) = 0;
};

/// Return where the engine listens: `host` if not empty, else DOCKER_HOST (unix://, tcp:// with
/// DOCKER_TLS_VERIFY and DOCKER_CERT_PATH, as the docker CLI), else the default socket. Contexts of
/// the docker CLI are not read. Invalid with a line that says what to do otherwise.
core::Result<http::Endpoint> find_endpoint(const std::string& host);

/// Connect and negotiate the API version. Unavailable: no engine there; Denied: no permission on
/// the socket; Invalid: an engine too old (API below 1.40) or too new to have a version in common.
core::Result<std::unique_ptr<Engine>> connect(const http::Endpoint& endpoint);

}  // namespace kindlb::docker
