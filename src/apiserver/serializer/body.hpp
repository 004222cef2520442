#pragma once
// Bodies of requests: JSON; YAML and protobuf where their content type says so. kubectl's own
// clients send protobuf for what `kubectl create` makes.

#include "json.hpp"
#include "status_error.hpp"

#include <string>

namespace kindlb::apiserver {

/// `kind`: whose shape a protobuf message has.
ApiResult<Json> read_body(const std::string& body, const std::string& content_type,
                          const std::string& kind);

}  // namespace kindlb::apiserver
