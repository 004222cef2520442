#pragma once
// What the sandbox needs of the engine: a network of its own and echo workloads on it. Removed on
// destruction, with the proxies on that network.

#include "kindlb/core/result.hpp"
#include "kindlb/docker/engine.hpp"

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace kindlb::sandbox {

/// Its value is the sandbox's name; on its network and its workloads.
inline constexpr const char* kWorkloadLabel = "kindlb.dev/sandbox-workload";
inline constexpr int kSandboxPort = 8474;

/// Two sandboxes may share an engine: the port they listen on tells their things apart, since one
/// of them cannot have the other's. "kindlb-sandbox", "kindlb-sandbox-8475"
std::string sandbox_name(int port);

struct EchoContainer {
  std::string id;
  std::string name;
  bool running = false;
  std::optional<core::IpAddress> ipv4;
  std::optional<core::IpAddress> ipv6;
};

class Containers {
 public:
  /// `echo_binary`: the static program that becomes an image.
  static core::Result<std::unique_ptr<Containers>> make(docker::Engine& engine,
                                                        const std::string& name,
                                                        const std::string& echo_binary,
                                                        const std::stop_token& stop);
  ~Containers();
  Containers(const Containers&) = delete;
  Containers& operator=(const Containers&) = delete;

  const docker::Network& network() const { return network_; }
  /// Where a node of this cluster would be: the network's gateway, of each family.
  std::vector<std::string> node_addresses() const;
  /// By name.
  core::Result<std::map<std::string, EchoContainer>> workloads();
  core::Result<void> start(const std::string& name);
  /// A few at a time; what fails is not there the next time one looks.
  void start_all(const std::vector<std::string>& names);
  core::Result<void> restart(const EchoContainer& one);
  core::Result<void> kill(const EchoContainer& one);
  core::Result<void> remove(const EchoContainer& one);

 private:
  Containers(docker::Engine& engine, docker::Network network, std::string image)
      : engine_(engine), network_(std::move(network)), image_(std::move(image)) {}

  docker::Engine& engine_;
  docker::Network network_;
  std::string image_;
};

/// Proxies, workloads and the network of a sandbox that is no more. May run twice at a time.
void clear_sandbox(docker::Engine& engine, const std::string& name);

}  // namespace kindlb::sandbox
