#include "json_escapes.hpp"

#include <charconv>
#include <cstdio>
#include <optional>
#include <string_view>

namespace kindlb::yaml {

namespace {

constexpr std::size_t kEscape = 6;  // \ud83d

/// The code unit of the escape at `at`, if it is between `first` and `last`.
std::optional<unsigned> unit(std::string_view text, std::size_t at, unsigned first, unsigned last) {
  if (at + kEscape > text.size() || text[at] != '\\' || text[at + 1] != 'u') return std::nullopt;
  unsigned value = 0;
  const auto* const end = text.data() + at + kEscape;
  const auto result = std::from_chars(text.data() + at + 2, end, value, 16);
  if (result.ptr != end || value < first || value > last) return std::nullopt;
  return value;
}

/// Combine a surrogate pair (RFC 8259 §7) to one code point.
std::string escape(unsigned high, unsigned low) {
  const unsigned code = 0x10000U + ((high - 0xD800U) << 10U) + (low - 0xDC00U);
  char out[16];
  std::snprintf(out, sizeof out, "\\U%08x", code);
  return out;
}

}  // namespace

std::string join_surrogates(std::string text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || (text[first] != '{' && text[first] != '[')) return text;
  for (auto at = text.find('\\'); at != std::string::npos; at = text.find('\\', at)) {
    const auto high = unit(text, at, 0xD800, 0xDBFF);
    const auto low = high ? unit(text, at + kEscape, 0xDC00, 0xDFFF) : std::nullopt;
    if (low) text.replace(at, 2 * kEscape, escape(*high, *low));
    at += 2;  // an escaped backslash does not begin an escape
  }
  return text;
}

}  // namespace kindlb::yaml
