#pragma once
// Expected texts kept as files under test/golden. With KINDLB_UPDATE_GOLDEN=1 in the environment
// they are rewritten instead of compared; a changed golden is then reviewed like code.

#include <string>

namespace kindlb::testing {

/// The stored text, or empty when there is none.
std::string read_golden(const std::string& name);

/// Empty when `text` is what test/golden/<name> holds; else the first line that differs.
std::string golden_difference(const std::string& name, const std::string& text);

}  // namespace kindlb::testing
