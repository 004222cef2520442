#include "status.hpp"

#include "codec.hpp"
#include "kindlb/json/json.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kindlb::kube {

namespace {
constexpr std::size_t kMaxQuote = 200;
constexpr int kLargestStatus = 599;

/// The first line of a body that is not ours to understand.
std::string quote(std::string_view body) {
  return std::string(body.substr(0, std::min(body.find_first_of("\r\n"), kMaxQuote)));
}

/// The Status' message, or its reason; empty when it has neither.
std::string message_of(const Json& status) {
  auto message = json::text_at(status, {"message"});
  return message.empty() ? json::text_at(status, {"reason"}) : message;
}
}  // namespace

core::Error error_of(const http::Response& response, const std::string& operation) {
  auto message = message_of(parse_json(response.body));
  if (message.empty()) message = quote(response.body);
  auto detail = message.empty() ? fmt::format("HTTP {}", response.status)
                                : fmt::format("{} (HTTP {})", message, response.status);
  return {http::kind_of_status(response.status), operation, std::move(detail)};
}

core::Error error_of_status(const Json& status, const std::string& operation) {
  const auto code = static_cast<int>(
      std::clamp<std::int64_t>(json::number_at(status, {"code"}), 0, kLargestStatus));
  const auto kind = code >= 400 ? http::kind_of_status(code) : core::ErrorKind::Unavailable;
  return {kind, operation, fmt::format("{} (code {})", message_of(status), code)};
}

bool has_cause(std::string_view body, std::string_view reason) {
  const auto status = parse_json(body);
  return std::ranges::any_of(json::list_at(status, {"details", "causes"}), [&](const Json& cause) {
    return json::text_at(cause, {"reason"}) == reason;
  });
}

}  // namespace kindlb::kube
