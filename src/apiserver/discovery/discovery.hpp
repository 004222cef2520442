#pragma once
// What the API says about itself: versions, groups, resources.

#include "json.hpp"

#include <optional>
#include <string>

namespace kindlb::apiserver {

/// Nothing: the path is none of these.
std::optional<Json> discovery(const std::string& path);

}  // namespace kindlb::apiserver
