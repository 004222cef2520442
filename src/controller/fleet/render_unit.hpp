#pragma once
// From a Service's ProxyConfig to the unit that is sent to the agent: Envoy's resources rendered as
// JSON, addresses and routes as they are. Pure: the same config gives the same bytes, so that Envoy
// leaves alone what did not change.

#include "kindlb/core/plan.hpp"
#include "kindlb/core/proxy_config.hpp"
#include "kindlb/protocol/protocol.hpp"

namespace kindlb::controller {

protocol::Unit render_unit(const core::ProxyConfig& config, const core::Revision& revision);

}  // namespace kindlb::controller
