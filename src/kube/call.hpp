#pragma once
// One request to the API server: how it is written, and what counts as its failure. Thread-safe, as
// the Client is.

#include "kindlb/core/result.hpp"
#include "kindlb/http/client.hpp"

#include <chrono>
#include <stop_token>
#include <string>

namespace kindlb::kube {

/// For every call that is not a list or a watch.
inline constexpr std::chrono::milliseconds kCallTimeout{15'000};

/// Build a request that accepts JSON. `content_type` null: no body.
http::Request make_request(const char* method, std::string target,
                           const char* content_type = nullptr, std::string body = {});

/// Send it and return the response if it is 2xx. Any other one is the Error that its Status
/// describes (status.hpp); `operation` is what every error says was tried.
core::Result<http::Response> call(http::Client& client, const http::Request& request,
                                  const std::string& operation, std::stop_token stop = {});

/// The same failure as a caller sees it: during that operation.
core::Error with_operation(const core::Error& error, std::string operation);

}  // namespace kindlb::kube
