#pragma once
// The real engine for tests that need it, and the things one test makes there: all carry a label of
// this run or hang on its network, and go with the rig, also when a check fails half-way.

#include "kindlb/docker/engine.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

namespace kindlb::testing {

/// The value, or the end of the test case with the error's text.
template <typename T>
T must(core::Result<T> result) {
  if (!result) FAIL(result.error().text());
  return *std::move(result);
}
void must(const core::Result<void>& result);

class DockerRig {
 public:
  DockerRig();  ///< ends the test case when there is no engine
  ~DockerRig();
  DockerRig(const DockerRig&) = delete;
  DockerRig& operator=(const DockerRig&) = delete;

  docker::Engine& engine() { return *engine_; }
  /// A network of this run, its subnet chosen by the engine; with IPv6 it is like kind's own.
  docker::Network make_network(const std::string& prefix = "kindlb-test-", bool ipv6 = false);
  /// Creates and starts; name and label are filled in. Returns the id.
  std::string start(docker::ContainerSpec spec);
  /// Runs a command inside and gives what it printed, on either stream.
  std::string output_of(const std::string& id, const std::vector<std::string>& command);
  /// Names of all that is left of this run on the engine.
  std::vector<std::string> leftovers();
  void clean_up();

 private:
  std::string selector() const { return "kindlb-test=" + run_; }

  std::unique_ptr<docker::Engine> engine_;
  std::string run_;
  std::string network_;
};

/// KINDLB_ENVOY_IMAGE, or the one scripts/setup-envoy.sh makes.
std::string envoy_image();

}  // namespace kindlb::testing
