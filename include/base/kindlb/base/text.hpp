#pragma once
// Text: trimming, case, control characters, and comma-separated lists as users write them in
// annotations and flags. All of it is locale-independent and allocates only what it returns.

#include <string>
#include <string_view>
#include <vector>

namespace kindlb::base {

/// Return `text` without white space at either end, as a view into it.
inline std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// Return `text` with A-Z in lower case and every other byte as it is: HTTP header names and
/// tokens compare this way (RFC 9110, section 5.1).
inline std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

/// Return whether the byte controls a terminal or ends a line instead of showing something.
inline bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

/// Return `text` on one line and harmless on a terminal, for everything that people read and others
/// may have written. Control characters become "\n" or "\x1b" (backslash and letters), those of
/// Unicode "\u202e", and bytes that are not UTF-8 "\xff". Backslashes stay: this is not reversible.
std::string printable(std::string_view text);

/// Split "a, b,,c" into a, b, c: items are trimmed, empty ones left out.
inline std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const auto comma = text.find(',');
    if (const auto item = trimmed(text.substr(0, comma)); !item.empty()) out.emplace_back(item);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return out;
}

/// Join strings of any kind, for messages: "a, b".
template <typename Items = std::vector<std::string>>
std::string joined(const Items& items, std::string_view separator = ", ") {
  std::string out;
  for (const auto& item : items) {
    if (!out.empty()) out += separator;
    out += item;
  }
  return out;
}

}  // namespace kindlb::base
