#include "network/connections.hpp"

#include "kindlb/base/number.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>

namespace kindlb::agent {
namespace {

// States of include/net/tcp_states.h, as /proc prints them.
constexpr std::array kClosedStates = {"06", "07", "0A"};  // TIME_WAIT, CLOSE, LISTEN
constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

/// The kernel prints each 32-bit word of an address as a number in the host's byte order.
bool read_word(std::string_view text, std::uint8_t* into) {
  const auto word = base::parse_number<std::uint32_t>(text, 16);
  if (word) std::memcpy(into, &*word, sizeof(*word));
  return word.has_value();
}

/// Parse "0100007F:0050", or 32 digits and a port for IPv6.
std::optional<core::IpAddress> parse_remote(std::string_view text) {
  const auto digits = text.substr(0, text.find(':'));
  if (digits.size() != 8 && digits.size() != 32) return std::nullopt;
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < digits.size(); i += 8)
    if (!read_word(digits.substr(i, 8), bytes.data() + i / 2)) return std::nullopt;
  if (digits.size() == 8) return core::IpAddress::from_bytes(core::IpFamily::V4, bytes);
  if (!std::equal(kMapped.begin(), kMapped.end(), bytes.begin()))
    return core::IpAddress::from_bytes(core::IpFamily::V6, bytes);
  std::array<std::uint8_t, 16> inner{};
  std::copy(bytes.begin() + kMapped.size(), bytes.end(), inner.begin());
  return core::IpAddress::from_bytes(core::IpFamily::V4, inner);
}

std::string read_proc(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::set<core::IpAddress> parse_connections(std::string_view text) {
  std::set<core::IpAddress> out;
  std::istringstream lines{std::string(text)};
  std::string line;
  std::getline(lines, line);  // the titles
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string number;
    std::string local;
    std::string remote;
    std::string state;
    if (!(words >> number >> local >> remote >> state)) continue;
    if (std::find(kClosedStates.begin(), kClosedStates.end(), state) != kClosedStates.end())
      continue;
    if (const auto address = parse_remote(remote)) out.insert(*address);
  }
  return out;
}

std::set<core::IpAddress> connected_peers() {
  auto out = parse_connections(read_proc("/proc/net/tcp"));
  out.merge(parse_connections(read_proc("/proc/net/tcp6")));
  return out;
}

}  // namespace kindlb::agent
