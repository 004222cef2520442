#pragma once
// The proxy image: the configured Envoy image plus kindlb-agent and Envoy's bootstrap
// configuration, built by the engine, once per content. Blocking; may be called from any thread.
//
// The image's tag is a hash of everything it is built from. Proxies carry that hash in kAgentLabel,
// so that a kindlb with another agent or another Envoy recognises outdated ones.

#include "kindlb/docker/images.hpp"

#include <stop_token>
#include <string>

namespace kindlb::proxy {

/// Build "kindlb-proxy:<hash>", and parse it; the hash is empty for any other reference.
std::string image_reference(const std::string& hash);
std::string image_hash(const std::string& reference);

/// Return the Dockerfile of the image, with `envoy_image` as its base.
std::string dockerfile(const std::string& envoy_image);

/// Return the image's reference; build the image if the engine has none of that content. Pulls
/// `envoy_image` if the engine does not have it; if that fails, the error says what to do.
/// ErrorKind::Invalid: the reference is malformed, or the agent cannot be read.
core::Result<std::string> ensure_proxy_image(docker::Images& images, const std::string& envoy_image,
                                             const std::string& agent_binary_path,
                                             const docker::Progress& progress,
                                             std::stop_token stop);

}  // namespace kindlb::proxy
