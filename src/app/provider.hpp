#pragma once
// The provider itself: what `kindlb run` and the sandbox have in common.

#include "kindlb/app/options.hpp"
#include "kindlb/controller/controller.hpp"
#include "kindlb/docker/engine.hpp"

#include <optional>
#include <stop_token>
#include <string>

namespace kindlb::app {

/// The image proxies are made from, built if need be.
core::Result<std::string> proxy_image(docker::Engine& engine, const Options& options,
                                      const std::stop_token& stop);

/// Serves until `stop`: the one cluster given, else every kind cluster of the engine.
void provide(docker::Engine& engine, const std::string& image, const Options& options,
             std::optional<controller::GivenCluster> only, const std::stop_token& stop);

}  // namespace kindlb::app
