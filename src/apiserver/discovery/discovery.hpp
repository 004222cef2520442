#pragma once
// The discovery endpoints: /version, /api, /apis and the resource list of each group version.

#include "json.hpp"

#include <optional>
#include <string>

namespace kindlb::apiserver {

/// Nothing: the path is not a discovery endpoint.
std::optional<Json> discovery(const std::string& path);

}  // namespace kindlb::apiserver
