#pragma once
// JSON values as block YAML that any reader, of 1.1 or 1.2, takes for the same values.

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace kindlb::forecast {

std::string yaml_text(const nlohmann::ordered_json& value);

}  // namespace kindlb::forecast
