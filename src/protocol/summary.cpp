// The agent's state as a symbolic link's target: JSON in hexadecimal, cut into path components.
#include "kindlb/protocol/protocol.hpp"

namespace kindlb::protocol {

namespace {

// A link's target is a path: components of at most 255 bytes, 4095 in all. The engine may resolve
// it before it returns it, so no component may be "." or "..", and none may need escaping:
// hexadecimal digits in components of kComponent digits are safe with every path resolver.
constexpr std::size_t kMaxTarget = 4'000;
constexpr std::size_t kComponent = 200;
constexpr std::string_view kSummaryPrefix = "s/";

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::optional<std::string> encode_summary(const AgentState& state) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out(kSummaryPrefix);
  std::size_t in_component = 0;
  for (const char c : encode_state(state)) {
    if (in_component == kComponent) {
      out += '/';
      in_component = 0;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 0xFU];
    in_component += 2;
  }
  if (out.size() > kMaxTarget) return std::nullopt;
  return out;
}

std::optional<AgentState> decode_summary(std::string_view target) {
  const auto start = target.starts_with(kSummaryPrefix) ? 0 : target.find("/s/");
  if (start == std::string_view::npos) return std::nullopt;
  target.remove_prefix(start + kSummaryPrefix.size() + (target[start] == '/' ? 1 : 0));
  std::string text;
  int high = -1;
  for (const char c : target) {
    if (c == '/') continue;
    const int value = hex_value(c);
    if (value < 0) return std::nullopt;
    if (high >= 0) text += static_cast<char>(high * 16 + value);
    high = high < 0 ? value : -1;
  }
  return decode_state(text);
}

}  // namespace kindlb::protocol
