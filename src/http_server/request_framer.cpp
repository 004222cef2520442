#include "request_framer.hpp"

#include <strings.h>

#include <algorithm>
#include <charconv>

namespace kindlb::http_server {

namespace {
constexpr std::string_view kHeaderEnd = "\r\n\r\n";

/// Return the value of the header field `name`; data() is null when there is none. Field names are
/// case-insensitive (RFC 9110, 5.1).
std::string_view header_value(std::string_view header, std::string_view name) {
  for (auto at = header.find('\n'); at != std::string_view::npos; at = header.find('\n', at + 1)) {
    const auto line = header.substr(at + 1, header.find('\n', at + 1) - at - 1);
    if (line.size() <= name.size() || line[name.size()] != ':') continue;
    if (strncasecmp(line.data(), name.data(), name.size()) != 0) continue;
    const auto value = line.substr(name.size() + 1);
    return value.substr(std::min(value.find_first_not_of(" \t"), value.size()));
  }
  return {};
}

bool starts_with_method(std::string_view input) {
  return std::all_of(input.begin(), input.begin() + std::min<std::ptrdiff_t>(3, std::ssize(input)),
                     [](char c) { return c >= 'A' && c <= 'Z'; });
}
}  // namespace

RequestState RequestFramer::parse_header(std::string_view header) {
  needed_ = header.size();
  // A chunked body tells its own end, and with Expect the client waits for "100 Continue" before it
  // sends the body. In both cases the worker has to read on.
  if (header_value(header, "transfer-encoding").data() != nullptr ||
      header_value(header, "expect").data() != nullptr)
    return RequestState::Complete;
  const auto length = header_value(header, "content-length");
  if (length.data() == nullptr) return RequestState::Complete;
  std::size_t bytes = 0;
  const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), bytes);
  if (error == std::errc::result_out_of_range || bytes > limits_.body)
    return RequestState::BodyTooLarge;
  if (error == std::errc()) needed_ += bytes;
  return RequestState::Complete;
}

RequestState RequestFramer::update(std::string_view input) {
  if (needed_ != 0) return input.size() < needed_ ? RequestState::Body : RequestState::Complete;
  if (input.empty()) return RequestState::Empty;
  if (!starts_with_method(input)) return RequestState::NotHttp;
  const auto end = input.find(kHeaderEnd, searched_);
  searched_ = input.size() < kHeaderEnd.size() ? 0 : input.size() - kHeaderEnd.size() + 1;
  if (std::min(end, input.size()) > limits_.header) return RequestState::HeaderTooLarge;
  if (end == std::string_view::npos) return RequestState::Header;
  const auto framed = parse_header(input.substr(0, end + kHeaderEnd.size()));
  return framed == RequestState::Complete && input.size() < needed_ ? RequestState::Body : framed;
}

}  // namespace kindlb::http_server
