#pragma once
// JSON templates filled structurally: a string that is exactly "${name}" becomes a JSON value.
// Values are put in whole and never looked at again, so no content of theirs can change the shape
// around them. Pure. Included by sources only, since it drags in the JSON header.

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <string_view>

namespace kindlb::envoy {

using Values = std::map<std::string, nlohmann::json, std::less<>>;

/// The embedded template of that name, comments dropped. REQUIRES: it exists and is JSON.
nlohmann::json load_template(std::string_view name);

/// REQUIRES: every placeholder of `shape` has a value.
nlohmann::json fill(const nlohmann::json& shape, const Values& values);

/// Compact text with sorted keys; bytes that are not UTF-8 become U+FFFD instead of an exception.
std::string compact(const nlohmann::json& value);

}  // namespace kindlb::envoy
