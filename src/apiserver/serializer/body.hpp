#pragma once
// Request bodies: JSON, or YAML and protobuf by content type. `kubectl apply --server-side` sends
// YAML and the typed clients in `kubectl create` send protobuf.

#include "json.hpp"
#include "status_error.hpp"

#include <string>

namespace kindlb::apiserver {

/// Parse a body. `kind` selects the type of a protobuf message. 400: malformed; 415: another
/// format.
ApiResult<Json> read_body(const std::string& body, const std::string& content_type,
                          const std::string& kind);

}  // namespace kindlb::apiserver
