#pragma once
// A Service's wish as the agent's protocol carries it: rendered for Envoy, under its revision.

#include "kindlb/core/plan.hpp"
#include "kindlb/core/proxy_config.hpp"
#include "kindlb/protocol/protocol.hpp"

namespace kindlb::controller {

protocol::Unit render_unit(const core::ProxyConfig& config, const core::Revision& revision);

}  // namespace kindlb::controller
