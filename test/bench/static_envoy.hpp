#pragma once
// What a person would write by hand: one Envoy in a container, one TCP port, one backend, nothing
// else. Gone with the object.

#include "kindlb/core/proxy_config.hpp"
#include "kindlb/docker/containers.hpp"

#include <string>

namespace kindlb::bench {

class StaticEnvoy {
 public:
  /// Throws std::runtime_error when it does not answer.
  StaticEnvoy(docker::Containers& containers, const std::string& network,
              const core::Target& backend);
  ~StaticEnvoy();
  StaticEnvoy(const StaticEnvoy&) = delete;
  StaticEnvoy& operator=(const StaticEnvoy&) = delete;

  const core::Target& target() const { return target_; }

 private:
  docker::Containers& containers_;
  std::string id_;
  core::Target target_;
};

}  // namespace kindlb::bench
