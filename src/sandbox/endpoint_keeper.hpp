#pragma once
// Keeps EndpointSlices in step with Services and pods, on a thread of its own.

#include "sandbox/api.hpp"

#include <stop_token>

namespace kindlb::sandbox {

/// Until `stop`; looks again whenever a Service or a pod changed.
void keep_endpoint_slices(Api& api, const std::stop_token& stop);

/// One look: writes what differs, removes what nobody wants.
void settle_endpoint_slices(Api& api);

}  // namespace kindlb::sandbox
