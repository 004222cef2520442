#pragma once
// What the sandbox has on the Docker engine: a network, and echo containers on it. The engine is
// the only place where their state is kept; every call asks it anew.

#include "kindlb/core/result.hpp"
#include "kindlb/docker/engine.hpp"

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace kindlb::sandbox {

/// On the sandbox's network and containers; the value is the sandbox's name. It finds what a killed
/// sandbox has left.
inline constexpr const char* kWorkloadLabel = "kindlb.dev/sandbox-workload";
inline constexpr int kSandboxPort = 8474;

/// Return the name of a sandbox: "kindlb-sandbox", "kindlb-sandbox-8475". It derives from the port,
/// since only one process can listen there: two sandboxes on one engine never share a name, and a
/// sandbox that is started again finds the leftovers of its predecessor under its own name.
std::string sandbox_name(int port);

struct EchoContainer {
  std::string id;
  std::string name;
  bool running = false;
  std::optional<core::IpAddress> ipv4;
  std::optional<core::IpAddress> ipv6;
};

/// Owns the network and everything on it: the destructor removes the containers, the proxies that
/// are attached to the network, and the network itself. Calls may come from several threads.
class Containers {
 public:
  /// Build the image unless it exists, and create the network. `echo_binary`: the static program
  /// that becomes the image.
  static core::Result<std::unique_ptr<Containers>> make(docker::Engine& engine,
                                                        const std::string& name,
                                                        const std::string& echo_binary,
                                                        const std::stop_token& stop);
  ~Containers();
  Containers(const Containers&) = delete;
  Containers& operator=(const Containers&) = delete;

  const docker::Network& network() const { return network_; }
  /// The gateway of the network, per family: the address that stands for the cluster's only node.
  std::vector<std::string> node_addresses() const;
  /// List the echo containers by name.
  core::Result<std::map<std::string, EchoContainer>> workloads();
  core::Result<void> start(const std::string& name);
  /// Start several at a time. A failure is not reported: the container is missing from the next
  /// workloads().
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

/// Remove the proxies, containers and network of a sandbox. Safe to call while another thread or
/// process does the same: what is already gone is not an error.
void clear_sandbox(docker::Engine& engine, const std::string& name);

}  // namespace kindlb::sandbox
