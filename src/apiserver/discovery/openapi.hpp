#pragma once
// OpenAPI v3 as far as kubectl needs it: schemas for `kubectl explain` and for the patches of
// `kubectl apply`, and the paths from which it learns that the server validates fields.

#include "json.hpp"

#include <optional>
#include <string>

namespace kindlb::apiserver {

/// Nothing: the path is not an OpenAPI endpoint.
std::optional<Json> openapi(const std::string& path);

}  // namespace kindlb::apiserver
