#pragma once
// Requests to the engine: they add the version to the path, name the operation in every error, and
// turn any answer that is not a success into an Error with the engine's own message.

#include "api_version.hpp"
#include "kindlb/http/client.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kindlb::docker {

using Query = std::vector<std::pair<std::string, std::string>>;

/// Return "/path?a=b&c=d" with the values of the query escaped.
std::string with_query(std::string path, const Query& query);

/// Timeouts. Calls that make the engine start or stop processes, or write layers, take much longer
/// than reads on a busy machine.
constexpr std::chrono::seconds kDefaultTimeout{30};
constexpr std::chrono::seconds kProcessTimeout{120};

/// Thread-safe, as the Client is. Every `operation` is a phrase for error messages: "create
/// container x".
class Transport {
 public:
  Transport(std::unique_ptr<http::Client> client, const ApiVersion& version)
      : client_(std::move(client)), prefix_("/v" + version.text()) {}

  /// Send a request and return the body of a 2xx or a 304. Engines answer 304 to starting what runs
  /// and stopping what does not: already as requested.
  core::Result<std::string> call(http::Request request, const std::string& operation);
  /// Send a request and return one header of a successful answer; empty when there is none of that
  /// name.
  core::Result<std::string> header(http::Request request, const std::string& operation,
                                   std::string_view name);
  /// Send a request whose answer has no content of interest.
  core::Result<void> command(http::Request request, const std::string& operation);

  /// Send a request and return its decoded body; a body that cannot be decoded is a Protocol error.
  template <typename Decode>
  auto fetch(http::Request request, const std::string& operation, Decode decode)
      -> core::Result<typename std::invoke_result_t<Decode, std::string_view>::value_type> {
    auto body = call(std::move(request), operation);
    if (!body) return body.error();
    auto decoded = decode(*body);
    if (!decoded) return undecodable(operation);
    return *std::move(decoded);
  }

  /// Send a request and pass on the lines of its (possibly endless) answer until `on_line` returns
  /// false, the answer ends, or a stop is requested. A line above 1 MiB is TooLarge.
  core::Result<void> lines(http::Request request, const std::string& operation,
                           const std::function<bool(std::string_view)>& on_line,
                           const std::stop_token& stop);

  /// Hijack the connection of this request: see http::Client::upgrade().
  core::Result<std::unique_ptr<http::Duplex>> upgrade(http::Request request,
                                                      const std::string& operation);

  /// Return the time of the engine's clock, to the second, from the Date header of a ping; nothing
  /// when it cannot be had.
  std::optional<std::int64_t> engine_time();

 private:
  static core::Error undecodable(const std::string& operation);

  const std::unique_ptr<http::Client> client_;
  const std::string prefix_;
};

// Requests with the timeout that fits the method; targets have no version, Transport adds it.
http::Request get(std::string target);
http::Request http_delete(std::string target);
/// `json` empty: no body and no Content-Type.
http::Request post(std::string target, std::string json = {});

}  // namespace kindlb::docker
