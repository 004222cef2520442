#pragma once
// JSON templates, filled structurally: a string that is exactly "${name}" is replaced by a JSON
// value. Values are inserted whole and not scanned again, so their content cannot change the
// structure around them. Pure. Include it from sources only, because it includes the JSON header.

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <string_view>

namespace kindlb::envoy {

using Values = std::map<std::string, nlohmann::json, std::less<>>;

/// Parse the embedded template `name`; comments are allowed. REQUIRES: it exists and is JSON.
nlohmann::json load_template(std::string_view name);

/// Return `shape` with its placeholders replaced. REQUIRES: every placeholder has a value.
nlohmann::json fill(const nlohmann::json& shape, const Values& values);

/// Serialize with sorted keys and no white space. Invalid UTF-8 becomes U+FFFD, not an exception.
std::string compact(const nlohmann::json& value);

}  // namespace kindlb::envoy
