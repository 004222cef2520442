#pragma once
// The proxy image: the configured Envoy image plus our agent and Envoy's start-up configuration,
// built once per content through the engine. Blocking.

#include "kindlb/docker/engine.hpp"

#include <stop_token>
#include <string>

namespace kindlb::proxy {

/// "kindlb-proxy:<hash>" and back; the hash is empty for a reference that is not one of ours.
std::string image_reference(const std::string& hash);
std::string image_hash(const std::string& reference);

/// What the image is built from, `envoy_image` being its base.
std::string dockerfile(const std::string& envoy_image);

/// The image's reference, built if there was none of that content. `envoy_image` is pulled when the
/// engine does not have it; failing that, the error says what to do. Invalid: the reference, or an
/// agent that cannot be read.
core::Result<std::string> ensure_proxy_image(docker::Engine& engine, const std::string& envoy_image,
                                             const std::string& agent_binary_path,
                                             const docker::Progress& progress,
                                             std::stop_token stop);

}  // namespace kindlb::proxy
