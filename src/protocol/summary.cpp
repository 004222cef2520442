// The agent's state as a symbolic link's target: JSON in hexadecimal, cut into path components.
#include "kindlb/base/number.hpp"
#include "kindlb/protocol/protocol.hpp"

namespace kindlb::protocol {

namespace {

// A link's target is a path: components of at most 255 bytes, 4095 in all. The engine may resolve
// it before it returns it, so no component may be "." or "..", and none may need escaping:
// hexadecimal digits in components of kComponent digits are safe with every path resolver.
constexpr std::size_t kMaxTarget = 4'000;
constexpr std::size_t kComponent = 200;
constexpr std::string_view kSummaryPrefix = "s/";

}  // namespace

std::optional<std::string> encode_summary(const AgentState& state) {
  std::string out(kSummaryPrefix);
  std::size_t in_component = 0;
  for (const char c : encode_state(state)) {
    if (in_component == kComponent) {
      out += '/';
      in_component = 0;
    }
    base::append_hex(out, c);
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
  std::optional<std::size_t> high;
  for (const char c : target) {
    if (c == '/') continue;
    const auto value = base::kLowerHex.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    if (high) text += static_cast<char>(*high * 16 + value);
    high = high ? std::nullopt : std::optional(value);
  }
  return decode_state(text);
}

}  // namespace kindlb::protocol
