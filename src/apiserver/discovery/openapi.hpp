#pragma once
// OpenAPI v3 as far as kubectl needs it: schemas for `explain` and for the patches of `apply`, and
// enough of the paths to say that the server validates fields.

#include "json.hpp"

#include <optional>
#include <string>

namespace kindlb::apiserver {

/// Nothing: the path is none of these.
std::optional<Json> openapi(const std::string& path);

}  // namespace kindlb::apiserver
