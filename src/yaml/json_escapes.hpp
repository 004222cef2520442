#pragma once
// The one thing in which JSON is not YAML.

#include <string>

namespace kindlb::yaml {

/// JSON writes what is beyond U+FFFF as two escapes ("\ud83d\ude00"), which YAML does not know:
/// both become its single one ("\U0001f600"). Text that does not begin like JSON stays as it is.
std::string join_surrogates(std::string text);

}  // namespace kindlb::yaml
