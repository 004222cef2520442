#include "call.hpp"

#include "status.hpp"

#include <utility>

namespace kindlb::kube {

http::Request make_request(const char* method, std::string target, const char* content_type,
                           std::string body) {
  http::Request request{.method = method,
                        .target = std::move(target),
                        .headers = {{"Accept", "application/json"}},
                        .body = std::move(body),
                        .timeout = kCallTimeout};
  if (content_type != nullptr) request.headers.push_back({"Content-Type", content_type});
  return request;
}

core::Result<http::Response> call(http::Client& client, const http::Request& request,
                                  const std::string& operation, std::stop_token stop) {
  auto response = client.send(request, std::move(stop));
  if (!response) return with_operation(response.error(), operation);
  if (response->status / 100 != 2) return error_of(*response, operation);
  return response;
}

core::Error with_operation(const core::Error& error, std::string operation) {
  return {error.kind, std::move(operation), error.detail};
}

}  // namespace kindlb::kube
