#pragma once
// JSON templates, filled structurally: a string that is exactly "${name}" is replaced by a JSON
// value. Values are inserted whole and not scanned again, so their content cannot change the
// structure around them. Pure. Include it from sources only, because it includes the JSON header.

#include "kindlb/json/json.hpp"

#include <map>
#include <string>
#include <string_view>

namespace kindlb::envoy {

using Values = std::map<std::string, json::Json, std::less<>>;

/// Parse the embedded template `name`; comments are allowed. REQUIRES: it exists and is JSON.
json::Json load_template(std::string_view name);

/// Return `shape` with its placeholders replaced. REQUIRES: every placeholder has a value.
json::Json fill(const json::Json& shape, const Values& values);

}  // namespace kindlb::envoy
