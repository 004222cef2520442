#pragma once
// Numbers as text, both ways, without locale, streams or exceptions.

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace kindlb::base {

/// Parse the whole of `text` as an integer. Nothing for empty text, a value out of range, white
/// space or anything after the digits; "-" only for signed types, "+" and "0x" never.
template <typename Integer>
std::optional<Integer> parse_number(std::string_view text, int base = 10) {
  Integer out{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out, base);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return out;
}

inline constexpr std::string_view kLowerHex = "0123456789abcdef";
inline constexpr std::string_view kUpperHex = "0123456789ABCDEF";

/// Append the byte as two hexadecimal digits.
inline void append_hex(std::string& out, char byte, std::string_view digits = kLowerHex) {
  const auto value = static_cast<unsigned char>(byte);
  out += digits[value >> 4U];
  out += digits[value & 15U];
}

}  // namespace kindlb::base
