#pragma once
// The agent's own listener in Envoy, for LivenessCheck: it sends back what it gets, which only a
// worker thread of Envoy can do. The admin interface would not tell: it is the main thread's, and
// answers while no worker does. The socket's name is abstract, so it belongs to the container's
// network namespace and needs no file; no other host can reach it.

#include "kindlb/protocol/protocol.hpp"

namespace kindlb::agent {

inline constexpr const char* kLivenessSocket = "@kindlb-liveness";
inline constexpr const char* kLivenessListener = "kindlb-liveness";

inline protocol::Resource liveness_listener() {
  return {kLivenessListener,
          R"({"@type":"type.googleapis.com/envoy.config.listener.v3.Listener",)"
          R"("name":"kindlb-liveness","address":{"pipe":{"path":"@kindlb-liveness"}},)"
          R"("filter_chains":[{"filters":[{"name":"echo","typed_config":{"@type":)"
          R"("type.googleapis.com/envoy.extensions.filters.network.echo.v3.Echo"}}]}]})"};
}

}  // namespace kindlb::agent
