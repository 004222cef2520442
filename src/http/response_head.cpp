#include "response_head.hpp"

#include "kindlb/base/number.hpp"
#include "kindlb/base/text.hpp"
#include "kindlb/base/version.hpp"
#include "text.hpp"

#include <fmt/format.h>

namespace kindlb::http {

namespace {

/// "HTTP/1.1 101 UPGRADED" -> 101
std::optional<int> parse_status_line(std::string_view line) {
  if (!line.starts_with("HTTP/1.") || line.size() < 12 || line[8] != ' ') return std::nullopt;
  if (line.size() > 12 && line[12] != ' ') return std::nullopt;
  const auto status = base::parse_number<std::size_t>(line.substr(9, 3));
  if (!status || *status < 100 || *status > 599) return std::nullopt;
  return static_cast<int>(*status);
}

std::optional<Header> parse_header(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const std::string_view name = line.substr(0, colon);
  if (name.find_first_of(" \t") != std::string_view::npos) return std::nullopt;
  return Header{std::string(name), std::string(base::trimmed(line.substr(colon + 1)))};
}

std::string_view take_line(std::string_view& text) {
  const auto end = text.find("\r\n");
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
  return line;
}

bool fill(Response& response, std::string_view head) {
  const auto status = parse_status_line(take_line(head));
  if (!status) return false;
  response.status = *status;
  while (!head.empty()) {
    auto header = parse_header(take_line(head));
    if (!header) return false;
    response.headers.push_back(std::move(*header));
  }
  return true;
}

/// Return the payload of complete chunks; nothing before the last one has arrived, or when they are
/// malformed.
std::optional<std::string> decode_chunks(std::string_view bytes) {
  std::string body;
  for (;;) {
    const auto line_end = bytes.find("\r\n");
    if (line_end == std::string_view::npos) return std::nullopt;
    const std::string_view digits = bytes.substr(0, std::min(line_end, bytes.find(';')));
    const auto size = base::parse_number<std::size_t>(base::trimmed(digits), 16);
    bytes.remove_prefix(line_end + 2);
    if (!size || *size > bytes.size()) return std::nullopt;
    if (*size == 0) return body;
    body.append(bytes.substr(0, *size));
    bytes.remove_prefix(*size);
    if (!bytes.starts_with("\r\n")) return std::nullopt;
    bytes.remove_prefix(2);
  }
}

}  // namespace

std::string write_upgrade_request(const Request& request, std::string_view path_prefix,
                                  std::string_view authority, std::string_view bearer_token) {
  std::string text =
      fmt::format("{} {}{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: kindlb/{}\r\n", request.method,
                  path_prefix, request.target, authority, base::version());
  const auto add = [&](std::string_view name, std::string_view value) {
    text += fmt::format("{}: {}\r\n", name, value);
  };
  if (!bearer_token.empty()) add("Authorization", fmt::format("Bearer {}", bearer_token));
  add("Connection", "Upgrade");
  if (find_header(request.headers, "Upgrade") == nullptr) add("Upgrade", "tcp");
  for (const auto& [name, value] : request.headers)
    if (!equal_ignoring_case(name, "Connection")) add(name, value);
  add("Content-Length", std::to_string(request.body.size()));
  return text + "\r\n" + request.body;
}

ResponseHead parse_response_head(std::string_view bytes) {
  ResponseHead head;
  const auto end = bytes.substr(0, kMaxHead).find("\r\n\r\n");
  if (end == std::string_view::npos) {
    if (bytes.size() >= kMaxHead) head.parsed = Parsed::Malformed;
    return head;
  }
  head.size = end + 4;
  head.parsed = fill(head.response, bytes.substr(0, end)) ? Parsed::Complete : Parsed::Malformed;
  return head;
}

std::optional<std::string> refusal_body(const Response& head, std::string_view bytes, bool closed) {
  const bool enough = closed || bytes.size() >= kMaxHead;
  if (equal_ignoring_case(head.header("Transfer-Encoding"), "chunked")) {
    auto body = decode_chunks(bytes);
    return body || !enough ? body : std::string(bytes);
  }
  const auto length = base::parse_number<std::size_t>(head.header("Content-Length"));
  if (length && bytes.size() >= *length) return std::string(bytes.substr(0, *length));
  if (enough) return std::string(bytes);
  return std::nullopt;
}

}  // namespace kindlb::http
