#include "kindlb/http_server/request_framer.hpp"

#include <strings.h>

#include <algorithm>
#include <charconv>

namespace kindlb::http_server {

namespace {
constexpr std::string_view kEnd = "\r\n\r\n";

/// The header's value; without data() when it has none of that name.
std::string_view value_of(std::string_view header, std::string_view name) {
  for (auto at = header.find('\n'); at != std::string_view::npos; at = header.find('\n', at + 1)) {
    const auto line = header.substr(at + 1, header.find('\n', at + 1) - at - 1);
    if (line.size() <= name.size() || line[name.size()] != ':') continue;
    if (strncasecmp(line.data(), name.data(), name.size()) != 0) continue;
    const auto value = line.substr(name.size() + 1);
    return value.substr(std::min(value.find_first_not_of(" \t"), value.size()));
  }
  return {};
}

bool begins_a_request(std::string_view input) {
  return std::all_of(input.begin(), input.begin() + std::min<std::ptrdiff_t>(3, std::ssize(input)),
                     [](char c) { return c >= 'A' && c <= 'Z'; });
}
}  // namespace

Arrival ArrivalGauge::look_at_header(std::string_view header) {
  needed_ = header.size();
  // Those who send no length say themselves when it ends; those who ask first want an answer first.
  if (value_of(header, "transfer-encoding").data() != nullptr ||
      value_of(header, "expect").data() != nullptr)
    return Arrival::Whole;
  const auto length = value_of(header, "content-length");
  if (length.data() == nullptr) return Arrival::Whole;
  std::size_t bytes = 0;
  const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), bytes);
  if (error == std::errc::result_out_of_range || bytes > limits_.body) return Arrival::BodyTooLong;
  if (error == std::errc()) needed_ += bytes;
  return Arrival::Whole;
}

Arrival ArrivalGauge::look(std::string_view input) {
  if (needed_ != 0) return input.size() < needed_ ? Arrival::Body : Arrival::Whole;
  if (input.empty()) return Arrival::Nothing;
  if (!begins_a_request(input)) return Arrival::NoHttp;
  const auto end = input.find(kEnd, searched_);
  searched_ = input.size() < kEnd.size() ? 0 : input.size() - kEnd.size() + 1;
  if (std::min(end, input.size()) > limits_.header) return Arrival::HeaderTooLong;
  if (end == std::string_view::npos) return Arrival::Header;
  const auto verdict = look_at_header(input.substr(0, end + kEnd.size()));
  return verdict == Arrival::Whole && input.size() < needed_ ? Arrival::Body : verdict;
}

}  // namespace kindlb::http_server
