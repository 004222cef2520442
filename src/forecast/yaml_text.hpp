#pragma once
// Write JSON values as block YAML that parsers of YAML 1.1 and 1.2 read as the same values.

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace kindlb::forecast {

/// Format `value`. Strings that a YAML 1.1 parser could take for another type are quoted.
std::string yaml_text(const nlohmann::ordered_json& value);

}  // namespace kindlb::forecast
