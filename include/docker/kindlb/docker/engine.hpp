#pragma once
// The Docker Engine API, typed, as far as a load balancer needs it. Each call blocks; all may be
// called from many threads at once. An engine's own error text is kept in Error::detail, its kind
// in Error::kind (404 NotFound, 409 Conflict, ...). API version: the highest both sides speak,
// asked of the engine, never assumed.

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

struct EngineInfo {
  std::string version;      ///< "20.10.24"
  std::string api_version;  ///< the negotiated one: "1.41"
  std::string os;           ///< "linux"
};

/// One end of a container on a network.
struct Attachment {
  std::string network;  ///< its name
  std::string network_id;
  std::optional<core::IpAddress> ipv4;
  std::optional<core::IpAddress> ipv6;
};

struct PublishedPort {
  std::uint16_t container_port = 0;
  std::string host_ip;
  std::uint16_t host_port = 0;
};

enum class ContainerState { Created, Running, Paused, Restarting, Removing, Exited, Dead };

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

struct VolumeMount {
  std::string volume;
  std::string path;
};

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

struct Subnet {
  core::Cidr cidr;
  std::optional<core::IpAddress> gateway;
};

struct NetworkMember {
  std::string container_id;
  std::string name;
  std::optional<core::Cidr> ipv4;
  std::optional<core::Cidr> ipv6;
};

struct Network {
  std::string id;
  std::string name;
  std::string driver;
  Labels labels;
  std::vector<Subnet> subnets;
  std::vector<NetworkMember> members;  ///< only in an inspected network
};

struct NetworkSpec {
  std::string name;
  Labels labels;
  std::vector<Subnet> subnets;  ///< empty: the engine chooses
  bool enable_ipv6 = false;
};

struct Image {
  std::string id;
  std::vector<std::string> tags;
};

struct Volume {
  std::string name;
  Labels labels;
};

struct Event {
  std::string type;    ///< "container", "network", ...
  std::string action;  ///< "start", "die", "destroy", "rename", ...
  std::string id;
  Labels attributes;  ///< labels and the name ("name")
  std::int64_t time_nano = 0;
};

/// A line of an image pull or build, for people.
using Progress = std::function<void(std::string_view)>;

/// The attached streams of an exec: what the process prints comes demultiplexed out of the Duplex
/// by docker::StreamDemux; what is written goes to its stdin as it is.
using ExecStream = std::unique_ptr<http::Duplex>;

class Engine {
 public:
  virtual ~Engine() = default;

  virtual core::Result<EngineInfo> info() = 0;

  /// Running or not. `labels`: each "key" or "key=value"; all must match.
  virtual core::Result<std::vector<Container>> list_containers(
      const std::vector<std::string>& labels) = 0;
  virtual core::Result<Container> inspect_container(const std::string& id) = 0;
  virtual core::Result<std::string> create_container(const ContainerSpec& spec) = 0;
  virtual core::Result<void> start_container(const std::string& id) = 0;
  virtual core::Result<void> stop_container(const std::string& id, std::chrono::seconds grace) = 0;
  virtual core::Result<void> kill_container(const std::string& id, const std::string& signal) = 0;
  virtual core::Result<void> rename_container(const std::string& id, const std::string& name) = 0;
  /// With its anonymous volumes; running or not.
  virtual core::Result<void> remove_container(const std::string& id) = 0;

  /// One regular file out of a container, running or not.
  virtual core::Result<std::string> read_file(const std::string& id, const std::string& path) = 0;
  /// Where a symbolic link leads, resolved inside the container; nothing needs to be there. A small
  /// fraction of what reading a file costs the engine. Invalid: not a link.
  virtual core::Result<std::string> read_link(const std::string& id, const std::string& path) = 0;
  /// An uncompressed tar (docker/tar.hpp) unpacked under `path`.
  virtual core::Result<void> put_archive(const std::string& id, const std::string& path,
                                         const std::string& tar) = 0;

  /// Starts `command` inside a running container with stdin, stdout and stderr attached, no tty.
  /// A command that cannot be started is told by the stream: the engine's text, then its end.
  virtual core::Result<ExecStream> exec(const std::string& id,
                                        const std::vector<std::string>& command,
                                        const std::string& user) = 0;

  virtual core::Result<std::vector<Network>> list_networks(
      const std::vector<std::string>& labels) = 0;
  virtual core::Result<Network> inspect_network(const std::string& name_or_id) = 0;
  virtual core::Result<std::string> create_network(const NetworkSpec& spec) = 0;
  virtual core::Result<void> remove_network(const std::string& name_or_id) = 0;

  virtual core::Result<Image> inspect_image(const std::string& reference) = 0;
  virtual core::Result<std::vector<Image>> list_images(const std::vector<std::string>& labels) = 0;
  virtual core::Result<void> pull_image(const std::string& reference, const Progress& progress,
                                        std::stop_token stop) = 0;
  /// Builds from a tar with a Dockerfile at its root.
  virtual core::Result<void> build_image(const std::string& tag, const std::string& context_tar,
                                         const Labels& labels, const Progress& progress,
                                         std::stop_token stop) = 0;
  virtual core::Result<void> remove_image(const std::string& reference) = 0;

  virtual core::Result<std::string> create_volume(const Volume& volume) = 0;
  virtual core::Result<std::vector<Volume>> list_volumes(
      const std::vector<std::string>& labels) = 0;
  virtual core::Result<void> remove_volume(const std::string& name) = 0;

  /// Blocks, calling `on_event` for each event from now on, until stop or a broken connection.
  /// `on_open` is called once the engine has accepted the subscription: what happens later is seen.
  /// Up to a second of the past may come first.
  virtual core::Result<void> events(const std::function<void()>& on_open,
                                    const std::function<void(const Event&)>& on_event,
                                    std::stop_token stop) = 0;
};

/// Where the engine listens: `host` if not empty, else DOCKER_HOST (unix://, tcp:// with
/// DOCKER_TLS_VERIFY and DOCKER_CERT_PATH), else the default socket. Invalid with a line that says
/// what to do otherwise.
core::Result<http::Endpoint> find_endpoint(const std::string& host);

/// Connects and negotiates. Unavailable: no engine there; Denied: no permission on the socket;
/// Invalid: an engine too old (API below 1.40) or too new to have a version in common.
core::Result<std::unique_ptr<Engine>> connect(const http::Endpoint& endpoint);

}  // namespace kindlb::docker
