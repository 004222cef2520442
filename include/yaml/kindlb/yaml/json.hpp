#pragma once
// YAML as JSON values, for readers that do not need places any more.

#include "kindlb/yaml/node.hpp"

#include <nlohmann/json_fwd.hpp>

namespace kindlb::yaml {

/// Convert a tree, with scalars as resolve() reads them. Numbers that are not negative become
/// unsigned, as if the text had been JSON: readers may ask for is_number_unsigned().
nlohmann::json to_json(const Node& node);

}  // namespace kindlb::yaml
