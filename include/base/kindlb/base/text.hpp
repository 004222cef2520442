#pragma once
// Small helpers for lists as people write them in annotations and messages.

#include <string>
#include <string_view>
#include <vector>

namespace kindlb::base {

inline std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// "a, b,,c" -> a, b, c: items are trimmed, empty ones left out.
inline std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const auto comma = text.find(',');
    if (const auto item = trimmed(text.substr(0, comma)); !item.empty()) out.emplace_back(item);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return out;
}

inline std::string joined(const std::vector<std::string>& items) {
  std::string out;
  for (const auto& item : items) out += (out.empty() ? "" : ", ") + item;
  return out;
}

}  // namespace kindlb::base
