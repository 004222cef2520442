#include "kindlb/core/base64.hpp"

#include <algorithm>
#include <cstdint>

namespace kindlb::core {

namespace {
constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/// Remove up to two trailing '='. Nothing when the length cannot be base64.
std::optional<std::string_view> without_padding(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  return text;
}
}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  std::string dense(text);
  std::erase_if(dense, is_space);
  const auto digits = without_padding(dense);
  if (!digits) return std::nullopt;
  std::string out;
  out.reserve(digits->size() * 3 / 4);
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (const char c : *digits) {
    const auto value = kAlphabet.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = (bits << 6U) | static_cast<std::uint32_t>(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out.push_back(static_cast<char>((bits >> held) & 0xFFU));
  }
  return out;
}

}  // namespace kindlb::core
