#pragma once
// The one feature of JSON strings that YAML does not have.

#include <string>

namespace kindlb::yaml {

/// Replace JSON's surrogate pairs of escapes ("\ud83d\ude00"), used for characters beyond U+FFFF,
/// by YAML's single escape ("\U0001f600"). Text that does not start like JSON is returned
/// unchanged.
std::string join_surrogates(std::string text);

}  // namespace kindlb::yaml
