#include "kindlb/base/text.hpp"

#include "kindlb/base/number.hpp"

#include <array>
#include <cstdint>

namespace kindlb::base {

namespace {
/// A character of Unicode, and how many bytes of UTF-8 it takes; none: they are not UTF-8.
struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;
};

/// Decode the first character of `text`. Strictly: a terminal may take an overlong form for what it
/// stands for.
Character first_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (first < 0xc0 || first > 0xf4 || text.size() < bytes) return {};
  std::uint32_t code = first & (0x7fU >> bytes);
  for (const char c : text.substr(1, bytes - 1)) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0U) != 0x80) return {};
    code = code << 6U | (byte & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < kLeast[bytes] || code > 0x10ffff || surrogate ? Character{}
                                                              : Character{code, bytes};
}

bool is_within(std::uint32_t code, std::uint32_t first, std::uint32_t last) {
  return code >= first && code <= last;
}

/// The controls of C1, which terminals obey like escape sequences, line and paragraph separators,
/// and what changes the direction of writing: with it, text can look like what it is not (bidi,
/// Unicode TR 36, section 2.5).
bool is_unicode_control(std::uint32_t code) {
  return is_within(code, 0x80, 0x9f) || code == 0x61c || is_within(code, 0x200e, 0x200f) ||
         is_within(code, 0x2028, 0x202e) || is_within(code, 0x2066, 0x2069);
}

void append_byte_escape(std::string& out, char byte) {
  const std::string_view name = byte == '\n'   ? "\\n"
                                : byte == '\r' ? "\\r"
                                : byte == '\t' ? "\\t"
                                               : "\\x";
  out += name;
  if (name == "\\x") append_hex(out, byte);
}

void append_character_escape(std::string& out, std::uint32_t code) {
  out += "\\u";
  append_hex(out, static_cast<char>(code >> 8U));
  append_hex(out, static_cast<char>(code & 0xffU));
}
}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto [code, bytes] = first_character(text);
    if (bytes == 0 || (bytes == 1 && is_control(text.front())))
      append_byte_escape(out, text.front());
    else if (is_unicode_control(code))
      append_character_escape(out, code);
    else
      out += text.substr(0, bytes);
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return out;
}

}  // namespace kindlb::base
