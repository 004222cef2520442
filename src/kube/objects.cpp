#include "kindlb/kube/objects.hpp"

#include "codec.hpp"
#include "paths.hpp"
#include "status.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <utility>

namespace kindlb::kube {

namespace {
using core::Error;
using core::ErrorKind;
using core::Result;

/// Words that are no UTF-8 (from a command line) are for the server to refuse.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

class HttpObjects final : public Objects {
 public:
  explicit HttpObjects(std::shared_ptr<http::Client> client) : client_(std::move(client)) {}

  Result<Json> get(const std::string& path, std::stop_token stop) override {
    return document(call("GET", path, nullptr, {}, std::move(stop)), "get " + path);
  }

  Result<std::string> text(const std::string& path, std::stop_token stop) override {
    return call("GET", path, nullptr, {}, std::move(stop));
  }

  Result<Json> create(const std::string& path, const Json& object, std::stop_token stop) override {
    return document(call("POST", path, "application/json", text_of(object), std::move(stop)),
                    "create in " + path);
  }

  Result<Json> patch(const std::string& path, const Json& changes, std::stop_token stop) override {
    return document(
        call("PATCH", path, "application/merge-patch+json", text_of(changes), std::move(stop)),
        "patch " + path);
  }

  Result<void> remove(const std::string& path, std::stop_token stop) override {
    return remove_as(R"("propagationPolicy":"Background")", path, std::move(stop));
  }

  Result<void> remove_now(const std::string& path) override {
    return remove_as(R"("propagationPolicy":"Background","gracePeriodSeconds":0)", path, {});
  }

 private:
  /// Options in the body: where there is one, the server reads none from the query.
  Result<void> remove_as(const std::string& options, const std::string& path,
                         std::stop_token stop) {
    const auto done =
        call("DELETE", path, "application/json",
             R"({"kind":"DeleteOptions","apiVersion":"v1",)" + options + "}", std::move(stop));
    if (done || done.error().kind == ErrorKind::NotFound) return {};
    return done.error();
  }

  /// The body of a 2xx answer; everything else is an Error.
  Result<std::string> call(const char* method, const std::string& path, const char* content_type,
                           std::string body, std::stop_token stop) {
    http::Request request{.method = method,
                          .target = path,
                          .headers = {{"Accept", "application/json, */*"}},
                          .body = std::move(body),
                          .timeout = kCallTimeout};
    if (content_type != nullptr) request.headers.push_back({"Content-Type", content_type});
    const auto operation = std::string(method) + " " + path;
    auto response = client_->send(request, std::move(stop));
    if (!response) return Error{response.error().kind, operation, response.error().detail};
    if (response->status / 100 != 2) return error_of(*response, operation);
    return std::move(response->body);
  }

  static Result<Json> document(Result<std::string> body, const std::string& operation) {
    if (!body) return body.error();
    auto json = parse_json(*body);
    if (!json.is_object()) return Error{ErrorKind::Protocol, operation, "the answer is no object"};
    return json;
  }

  std::shared_ptr<http::Client> client_;
};
}  // namespace

std::shared_ptr<Objects> make_objects(std::shared_ptr<http::Client> client) {
  return std::make_shared<HttpObjects>(std::move(client));
}

Result<core::Service> service_from(const Json& object) {
  return decode_service(object, "");
}

std::string url_part(std::string_view text) {
  return escaped(text);
}

}  // namespace kindlb::kube
