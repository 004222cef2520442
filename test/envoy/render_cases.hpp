#pragma once
// The named configurations whose rendering is kept under test/golden: compared by the unit test,
// given to the real Envoy by the contract test.

#include "kindlb/core/proxy_config.hpp"
#include "kindlb/envoy/render.hpp"

#include <string>
#include <vector>

namespace kindlb::testing {

struct RenderCase {
  std::string name;
  core::ProxyConfig config;
};

std::vector<RenderCase> render_cases();

/// The places of the proxy container, as literals: a golden must not move with a constant.
envoy::XdsPaths golden_paths();

core::Listener tcp_listener(const std::string& address, std::uint16_t port);
core::Listener udp_listener(const std::string& address, std::uint16_t port);
core::Listener restricted(core::Listener listener, const std::vector<std::string>& ranges);
core::Backend backend_of(const core::Listener& listener, const std::vector<core::Target>& targets);
core::Target target(const std::string& address, std::uint16_t port);

}  // namespace kindlb::testing
