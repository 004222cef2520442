#pragma once
// Parts of texts: messages are compared by what they must name, not word by word.

#include <string>

namespace kindlb::test {

inline bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace kindlb::test
