#pragma once
// Bodies of requests: JSON; YAML and protobuf where their content type says so. kubectl's own
// clients send protobuf for what `kubectl create` makes.

#include "sandbox/json.hpp"
#include "sandbox/refusal.hpp"

#include <string>

namespace kindlb::sandbox {

/// `kind`: whose shape a protobuf message has.
Outcome<Json> read_body(const std::string& body, const std::string& content_type,
                        const std::string& kind);

}  // namespace kindlb::sandbox
