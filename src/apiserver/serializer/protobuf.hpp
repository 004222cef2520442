#pragma once
// Decodes application/vnd.kubernetes.protobuf by the field numbers of the schema: the magic
// "k8s\0", an envelope (runtime.Unknown) with apiVersion and kind, and the object in it. Responses
// are never protobuf: clients accept JSON as well.

#include "json.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace kindlb::apiserver {

/// Nothing: malformed, of another kind, or with fields that the schema does not describe (a pod's
/// spec).
std::optional<Json> from_protobuf(std::string_view body, const std::string& kind);

}  // namespace kindlb::apiserver
