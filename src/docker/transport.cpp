#include "transport.hpp"

#include "codec.hpp"
#include "http_date.hpp"
#include "kindlb/core/line_splitter.hpp"
#include "kindlb/http/url.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kindlb::docker {

using core::Error;
using core::ErrorKind;
using core::Result;

namespace {

constexpr std::size_t kMaxLine = std::size_t{1} << 20U;

/// 304 means that the container was started or stopped already.
bool is_success(int status) {
  return status / 100 == 2 || status == 304;
}

Error error_response(const http::Response& response, const std::string& operation) {
  std::string message = decode_message(response.body);
  if (message.empty()) message = fmt::format("HTTP status {}", response.status);
  return {http::kind_of_status(response.status), operation, std::move(message)};
}

Error with_operation(Error error, const std::string& operation) {
  error.operation = operation;
  return error;
}

}  // namespace

std::string with_query(std::string path, const Query& query) {
  char separator = '?';
  for (const auto& [name, value] : query) {
    path += fmt::format("{}{}={}", separator, name, http::url_escaped(value));
    separator = '&';
  }
  return path;
}

Result<std::string> Transport::call(http::Request request, const std::string& operation) {
  request.target = prefix_ + request.target;
  auto response = client_->send(request);
  if (!response) return with_operation(response.error(), operation);
  if (!is_success(response->status)) return error_response(*response, operation);
  return std::move(response->body);
}

Result<std::string> Transport::header(http::Request request, const std::string& operation,
                                      std::string_view name) {
  request.target = prefix_ + request.target;
  auto response = client_->send(request);
  if (!response) return with_operation(response.error(), operation);
  if (!is_success(response->status)) return error_response(*response, operation);
  return std::string(response->header(name));
}

Result<void> Transport::command(http::Request request, const std::string& operation) {
  auto body = call(std::move(request), operation);
  if (!body) return body.error();
  return {};
}

Result<void> Transport::lines(http::Request request, const std::string& operation,
                              const std::function<bool(std::string_view)>& on_line,
                              const std::stop_token& stop) {
  request.target = prefix_ + request.target;
  core::LineSplitter splitter(kMaxLine);
  auto response = client_->stream(
      request, [&](std::string_view chunk) { return splitter.feed(chunk, on_line); }, stop);
  if (!response) return with_operation(response.error(), operation);
  if (!is_success(response->status)) return error_response(*response, operation);
  if (splitter.overflowed())
    return Error{ErrorKind::TooLarge, operation,
                 fmt::format("the engine sent a line of more than {} bytes", kMaxLine)};
  splitter.feed("\n", on_line);  // the last line may come without its end
  return {};
}

Result<std::unique_ptr<http::Duplex>> Transport::upgrade(http::Request request,
                                                         const std::string& operation) {
  request.target = prefix_ + request.target;
  auto duplex = client_->upgrade(request);
  if (duplex) return duplex;
  // The detail is the body of the engine's answer; of other failures it is text that
  // decode_message() leaves as it is.
  Error error = with_operation(duplex.error(), operation);
  error.detail = decode_message(error.detail);
  return error;
}

std::optional<std::int64_t> Transport::engine_time() {
  auto response = client_->send(get(prefix_ + "/_ping"));
  if (!response) return std::nullopt;
  return parse_http_date(response->header("Date"));
}

Error Transport::undecodable(const std::string& operation) {
  return {ErrorKind::Protocol, operation, "the engine's answer does not match its API"};
}

http::Request get(std::string target) {
  return {.method = "GET", .target = std::move(target), .timeout = kDefaultTimeout};
}

http::Request http_delete(std::string target) {
  return {.method = "DELETE", .target = std::move(target), .timeout = kProcessTimeout};
}

http::Request post(std::string target, std::string json) {
  http::Request request{.method = "POST", .target = std::move(target), .timeout = kProcessTimeout};
  if (json.empty()) return request;
  request.headers.push_back({"Content-Type", "application/json"});
  request.body = std::move(json);
  return request;
}

}  // namespace kindlb::docker
