#pragma once
// Engine requests: the versioned path, escaped queries, and answers that are errors unless the
// engine said yes. Thread-safe, as the Client is.

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

/// "/path?a=b&c=d" with the query's values escaped.
std::string with_query(std::string path, const Query& query);

/// What most calls get; those that start or stop processes on a busy machine get more.
constexpr std::chrono::seconds kDefaultTimeout{30};
constexpr std::chrono::seconds kProcessTimeout{120};

class Transport {
 public:
  Transport(std::unique_ptr<http::Client> client, const ApiVersion& version)
      : client_(std::move(client)), prefix_("/v" + version.text()) {}

  /// The body of a 2xx or a 304 ("already so"). `operation` is for people.
  core::Result<std::string> call(http::Request request, const std::string& operation);
  /// One header of a 2xx answer; empty when there is none of that name.
  core::Result<std::string> header(http::Request request, const std::string& operation,
                                   std::string_view name);
  core::Result<void> command(http::Request request, const std::string& operation);

  /// A decoded body; what cannot be decoded is a Protocol error.
  template <typename Decode>
  auto fetch(http::Request request, const std::string& operation, Decode decode)
      -> core::Result<typename std::invoke_result_t<Decode, std::string_view>::value_type> {
    auto body = call(std::move(request), operation);
    if (!body) return body.error();
    auto decoded = decode(*body);
    if (!decoded) return undecodable(operation);
    return *std::move(decoded);
  }

  /// Lines of a long answer, until `on_line` returns false.
  core::Result<void> lines(http::Request request, const std::string& operation,
                           const std::function<bool(std::string_view)>& on_line,
                           const std::stop_token& stop);

  core::Result<std::unique_ptr<http::Duplex>> upgrade(http::Request request,
                                                      const std::string& operation);

  /// The engine's own clock, to the second: its Date header.
  std::optional<std::int64_t> engine_time();

 private:
  static core::Error undecodable(const std::string& operation);

  const std::unique_ptr<http::Client> client_;
  const std::string prefix_;
};

http::Request get(std::string target);
http::Request remove(std::string target);
/// With a JSON body, possibly empty.
http::Request post(std::string target, std::string json = {});

}  // namespace kindlb::docker
