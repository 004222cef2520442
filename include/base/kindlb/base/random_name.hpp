#pragma once
// Random endings for names of API objects.

#include <cstddef>
#include <random>
#include <string>
#include <string_view>

namespace kindlb::base {

/// Return `length` random letters and digits, of those that Kubernetes uses for generateName: no
/// vowels and nothing that looks like one, so that the result is never a word.
inline std::string random_name(std::size_t length) {
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::random_device random;
  std::string out;
  for (std::size_t i = 0; i < length; ++i) out += kLetters[random() % kLetters.size()];
  return out;
}

}  // namespace kindlb::base
