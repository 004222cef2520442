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

namespace kindlb::app {

inline constexpr const char* kSandboxNetwork = "kindlb-sandbox";
inline constexpr const char* kWorkloadLabel = "kindlb.dev/sandbox-workload";

struct EchoContainer {
  std::string id;
  std::string name;
  bool running = false;
  std::optional<core::IpAddress> ipv4;
  std::optional<core::IpAddress> ipv6;
};

class SandboxStage {
 public:
  /// `echo_binary`: the static program that becomes an image.
  static core::Result<std::unique_ptr<SandboxStage>> make(docker::Engine& engine,
                                                          const std::string& echo_binary,
                                                          const std::stop_token& stop);
  ~SandboxStage();
  SandboxStage(const SandboxStage&) = delete;
  SandboxStage& operator=(const SandboxStage&) = delete;

  /// Where a node of this cluster would be: the network's gateway.
  std::string node_address() const;
  /// By name.
  core::Result<std::map<std::string, EchoContainer>> workloads();
  core::Result<void> start(const std::string& name);
  core::Result<void> restart(const EchoContainer& one);
  core::Result<void> remove(const EchoContainer& one);

 private:
  SandboxStage(docker::Engine& engine, docker::Network network, std::string image)
      : engine_(engine), network_(std::move(network)), image_(std::move(image)) {}

  docker::Engine& engine_;
  docker::Network network_;
  std::string image_;
};

/// Proxies, workloads and the network of a sandbox that is no more.
void clear_sandbox(docker::Engine& engine);

}  // namespace kindlb::app
