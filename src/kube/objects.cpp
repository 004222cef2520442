#include "kindlb/kube/objects.hpp"

#include "call.hpp"
#include "codec.hpp"
#include "kindlb/json/json.hpp"
#include "watch/reflector.hpp"

#include <utility>

namespace kindlb::kube {

namespace {
using core::Error;
using core::ErrorKind;
using core::Result;

/// A collection whose objects are passed on as they are.
class JsonCollection final : public WatchedResource {
 public:
  JsonCollection(std::string path, ObjectObserver& observer)
      : path_(std::move(path)), observer_(observer) {}

  const char* name() const override { return path_.c_str(); }
  const char* path() const override { return path_.c_str(); }
  void begin_list() override { items_.clear(); }
  Result<void> add_item(const Json& item) override {
    items_.push_back(item);
    return {};
  }
  void finish_list() override { observer_.listed(std::exchange(items_, {})); }
  Result<void> changed(const Json& object) override {
    observer_.changed(object);
    return {};
  }
  Result<void> deleted(const Json& object) override {
    observer_.deleted(object);
    return {};
  }

 private:
  const std::string path_;
  ObjectObserver& observer_;
  std::vector<Json> items_;
};

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
    return document(call("POST", path, "application/json", json::dump(object), std::move(stop)),
                    "create in " + path);
  }

  Result<Json> patch(const std::string& path, const Json& changes, std::stop_token stop) override {
    return document(
        call("PATCH", path, "application/merge-patch+json", json::dump(changes), std::move(stop)),
        "patch " + path);
  }

  Result<Json> strategic_patch(const std::string& path, const Json& changes,
                               std::stop_token stop) override {
    return document(call("PATCH", path, "application/strategic-merge-patch+json",
                         json::dump(changes), std::move(stop)),
                    "patch " + path);
  }

  Result<Json> apply(const std::string& path, const Json& object, const std::string& manager,
                     std::stop_token stop) override {
    return document(call("PATCH", path + "?fieldManager=" + http::url_escaped(manager),
                         "application/apply-patch+yaml", json::dump(object), std::move(stop)),
                    "apply " + path);
  }

  void watch(const std::string& path, ObjectObserver& observer,
             const std::stop_token& stop) override {
    Reflector(
        client_, std::make_unique<JsonCollection>(path, observer),
        [&](const char* /*resource*/, const Result<void>& state) { observer.watch_state(state); })
        .run(stop);
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
    auto request = make_request(method, path, content_type, std::move(body));
    request.headers.front().value = "application/json, */*";  // logs and proxied pods are text
    auto response = kube::call(*client_, request, request.method + " " + path, std::move(stop));
    if (!response) return response.error();
    return std::move(response->body);
  }

  static Result<Json> document(Result<std::string> body, const std::string& operation) {
    if (!body) return body.error();
    auto json = parse_json(*body);
    if (!json.is_object())
      return Error{ErrorKind::Protocol, operation, "the answer is not a JSON object"};
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

}  // namespace kindlb::kube
