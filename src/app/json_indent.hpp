#pragma once
// Compact JSON for people to read.

#include <string>
#include <string_view>

namespace kindlb::app {

/// Two blanks per level and a newline at the end; no value changes. REQUIRES: `compact` is JSON
/// without white space between its tokens.
std::string json_indent(std::string_view compact);

}  // namespace kindlb::app
