#include "status.hpp"

#include "codec.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kindlb::kube {

namespace {
constexpr std::size_t kMaxQuote = 200;

/// The first line of a body that is not ours to understand.
std::string quote(std::string_view body) {
  return std::string(body.substr(0, std::min(body.find_first_of("\r\n"), kMaxQuote)));
}

/// The Status' message, or its reason; empty when it has neither.
std::string message_of(const Json& status) {
  Problem ignored;
  const Reader reader(status, ignored);
  auto message = reader.text("message");
  return message.empty() ? reader.text("reason") : message;
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
  Problem ignored;
  const int code = Reader(status, ignored).number("code");
  const auto kind = code >= 400 ? http::kind_of_status(code) : core::ErrorKind::Unavailable;
  return {kind, operation, fmt::format("{} (code {})", message_of(status), code)};
}

bool has_cause(std::string_view body, std::string_view reason) {
  const auto json = parse_json(body);
  Problem ignored;
  const Reader status(json, ignored);
  const auto details = status.object("details");
  bool found = false;
  details.each("causes",
               [&](const Reader& cause) { found = found || cause.text("reason") == reason; });
  return found;
}

}  // namespace kindlb::kube
