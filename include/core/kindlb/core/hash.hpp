#pragma once
// FNV-1a, 64 bits: a short, stable name for some bytes. Not collision-resistant: do not use it
// where an adversary would gain from a collision.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kindlb::core {

inline constexpr std::uint64_t kFnvOffset = 0xcbf29ce484222325U;

/// Hash `bytes`. Pass a previous result as `seed` to hash several pieces in a row.
constexpr std::uint64_t fnv1a(std::string_view bytes, std::uint64_t seed = kFnvOffset) {
  for (const char c : bytes) {
    seed ^= static_cast<unsigned char>(c);
    seed *= 0x100000001b3U;
  }
  return seed;
}

/// Return the upper `digits` (at most 16) hexadecimal digits of a hash.
inline std::string hex(std::uint64_t hash, std::size_t digits = 16) {
  constexpr std::array kDigits = {'0', '1', '2', '3', '4', '5', '6', '7',
                                  '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'};
  std::string out;
  for (std::size_t i = 0; i < digits && i < 16; ++i) out += kDigits[(hash >> (60 - 4 * i)) & 0xfU];
  return out;
}

/// Hash fields one by one. Each is prefixed with its length, so that ("ab", "c") and ("a", "bc")
/// differ.
class Hasher {
 public:
  Hasher& add(std::string_view field) {
    state_ = fnv1a(field, fnv1a(std::to_string(field.size()) + ":", state_));
    return *this;
  }
  Hasher& add(std::uint64_t number) { return add(std::string_view(std::to_string(number))); }
  std::string text() const { return hex(state_); }

 private:
  std::uint64_t state_ = kFnvOffset;
};

}  // namespace kindlb::core
