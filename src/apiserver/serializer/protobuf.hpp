#pragma once
// Kubernetes' protobuf bodies, read by the numbers in the schema: a magic, an envelope that names
// the kind, and the object. Only what a client sends; answers are always JSON.

#include "json.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace kindlb::apiserver {

/// Nothing: broken, of another kind, or with fields this schema has no shape for (a pod's spec).
std::optional<Json> from_protobuf(std::string_view body, const std::string& kind);

}  // namespace kindlb::apiserver
