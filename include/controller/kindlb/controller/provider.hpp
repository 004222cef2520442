#pragma once
// The provider: watches clusters and serves their Services until it is stopped. `kindlb run` and
// the sandbox start it the same way. The only entrance to the controller; both functions block.

#include "kindlb/core/policy.hpp"
#include "kindlb/core/result.hpp"
#include "kindlb/docker/engine.hpp"
#include "kindlb/http/client.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace kindlb::controller {

/// The one cluster to serve, when it was named on the command line.
struct GivenCluster {
  std::string name;
  std::string network;
  std::shared_ptr<http::Client> client;
};

/// What the command line decides.
struct ProviderSettings {
  core::Policy policy;  ///< the profile's capabilities included
  std::string profile = "full";
  std::size_t warm_proxies = 2;
  std::size_t services_per_proxy = 1;  ///< 0: no limit
  std::string envoy_image;
  std::string agent_binary;             ///< empty: next to this program
  bool delete_on_exit = false;          ///< release every Service before leaving
  std::function<void()> on_started_up;  ///< called once, when the work of starting up is over
};

/// Return the image that proxies are made from; build it if it is missing.
core::Result<std::string> proxy_image(docker::Images& images, const ProviderSettings& settings,
                                      const std::stop_token& stop);

/// Serve until `stop`: the one cluster given, else every kind cluster of the engine.
void provide(docker::Engine& engine, const std::string& image, const ProviderSettings& settings,
             std::optional<GivenCluster> only, const std::stop_token& stop);

}  // namespace kindlb::controller
