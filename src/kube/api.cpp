#include "kindlb/kube/api.hpp"

#include "codec.hpp"
#include "encode.hpp"
#include "paths.hpp"
#include "status.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <thread>

namespace kindlb::kube {

namespace {
using core::Error;
using core::ErrorKind;
using core::Result;

constexpr int kReleaseAttempts = 8;

bool is_success(const http::Response& response) {
  return response.status >= 200 && response.status < 300;
}

http::Request request(const char* method, std::string target, const char* content_type = nullptr,
                      std::string body = {}) {
  http::Request out{.method = method,
                    .target = std::move(target),
                    .headers = {{"Accept", "application/json"}},
                    .body = std::move(body),
                    .timeout = kCallTimeout};
  if (content_type != nullptr) out.headers.push_back({"Content-Type", content_type});
  return out;
}

std::string named(const core::ServiceKey& key) {
  return key.ns + "/" + key.name;
}

class HttpApi final : public Api {
 public:
  HttpApi(std::shared_ptr<http::Client> client, std::string cluster)
      : client_(std::move(client)), cluster_(std::move(cluster)) {}

  Result<std::string> server_version(std::stop_token stop) override {
    return field_of("/version", "ask for the server's version", {"gitVersion"}, std::move(stop));
  }

  Result<std::string> cluster_uid() override {
    return field_of("/api/v1/namespaces/kube-system", "read namespace kube-system",
                    {"metadata", "uid"}, {});
  }

  Result<core::Service> apply_status(const core::StatusApply& apply) override;
  Result<void> release(const ReleasePatch& patch) override;
  Result<void> emit(const core::Service& about, const core::EventNote& note) override;

 private:
  /// Gives 2xx answers; everything else is an Error.
  Result<http::Response> call(const http::Request& what, const std::string& operation,
                              std::stop_token stop = {});
  Result<std::string> field_of(const std::string& target, const std::string& operation,
                               const std::vector<const char*>& path, std::stop_token stop);
  Error classify_refusal(const core::StatusApply& apply, Error error);
  Result<void> count_event(const core::Service& about, const core::EventNote& note,
                           core::Timestamp now);
  Result<ReleaseStep> next_release_step(const ReleasePatch& patch, const std::string& operation);

  std::shared_ptr<http::Client> client_;
  std::string cluster_;
};

Result<http::Response> HttpApi::call(const http::Request& what, const std::string& operation,
                                     std::stop_token stop) {
  auto response = client_->send(what, std::move(stop));
  if (!response) {
    auto error = response.error();
    return Error{error.kind, operation, std::move(error.detail)};
  }
  if (!is_success(*response)) return error_of(*response, operation);
  return response;
}

Result<std::string> HttpApi::field_of(const std::string& target, const std::string& operation,
                                      const std::vector<const char*>& path, std::stop_token stop) {
  const auto response = call(request("GET", target), operation, std::move(stop));
  if (!response) return response.error();
  const auto json = parse_json(response->body);
  const Json* node = &json;
  for (const char* key : path) {
    const bool found = node->is_object() && node->contains(key);
    if (!found) return Error{ErrorKind::Protocol, operation, std::string(key) + " is missing"};
    node = &(*node)[key];
  }
  if (!node->is_string()) return Error{ErrorKind::Protocol, operation, "not a string"};
  return node->get<std::string>();
}

Result<core::Service> HttpApi::apply_status(const core::StatusApply& apply) {
  const auto operation = "apply status of " + named(apply.key);
  // Without a uid an apply to an object that is gone would be taken for its creation.
  if (apply.uid.empty()) return Error{ErrorKind::Invalid, operation, "no uid was given"};
  const auto target =
      service_path(apply.key) + "/status?fieldManager=" + core::kFieldManager + "&force=true";
  const auto response = call(
      request("PATCH", target, "application/apply-patch+yaml", encode_apply(apply)), operation);
  if (!response) return classify_refusal(apply, response.error());
  return decode_service(parse_json(response->body), cluster_);
}

/// A uid that matches no longer comes back as 422 when a namesake is there (the uid is immutable)
/// and as 409 when nothing is, but both also have other reasons. Instead of reading the server's
/// prose, look whether the object we meant is still there.
Error HttpApi::classify_refusal(const core::StatusApply& apply, Error error) {
  if (error.kind != ErrorKind::Conflict && error.kind != ErrorKind::Invalid) return error;
  const auto uid =
      field_of(service_path(apply.key), error.operation, {"metadata", "uid"}, std::stop_token{});
  const bool gone = uid ? *uid != apply.uid : uid.error().kind == ErrorKind::NotFound;
  if (gone) error.kind = ErrorKind::NotFound;
  return error;
}

Result<ReleaseStep> HttpApi::next_release_step(const ReleasePatch& patch,
                                               const std::string& operation) {
  const auto response = call(request("GET", service_path(patch.key)), operation);
  if (response) return plan_release(response->body, patch);
  if (response.error().kind != ErrorKind::NotFound) return response.error();
  return ReleaseStep{.gone = true, .patch = {}, .resource_version = {}};
}

Result<void> HttpApi::release(const ReleasePatch& patch) {
  const auto operation = "release " + named(patch.key);
  const auto target = service_path(patch.key) + "/status?fieldManager=" + core::kFieldManager;
  Error refusal{ErrorKind::Conflict, operation, "never tried"};
  std::string refused_version;
  for (int attempt = 0; attempt < kReleaseAttempts; ++attempt) {
    const auto step = next_release_step(patch, operation);
    if (!step) return step.error();
    if (step->gone || step->patch.empty()) return {};
    // A failed test and a patch the server dislikes are both 422: only the version tells them
    // apart.
    if (step->resource_version == refused_version) return refusal;
    const auto done =
        call(request("PATCH", target, "application/json-patch+json", step->patch), operation);
    if (done || done.error().kind == ErrorKind::NotFound) return {};
    const auto kind = done.error().kind;
    if (kind != ErrorKind::Conflict && kind != ErrorKind::Invalid) return done.error();
    refusal = done.error();
    refused_version = kind == ErrorKind::Invalid ? step->resource_version : std::string();
  }
  refusal.kind = ErrorKind::Conflict;
  return refusal;
}

Result<void> HttpApi::emit(const core::Service& about, const core::EventNote& note) {
  const auto operation = "emit event " + note.reason + " about " + named(about.key);
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto response = client_->send(request("POST", events_path(about.key.ns), "application/json",
                                              encode_event(about, note, now)));
  if (!response) {
    auto error = response.error();
    return Error{error.kind, operation, std::move(error.detail)};
  }
  // Nobody will read an event in a namespace that is going away.
  if (response->status == 403 && has_cause(response->body, "NamespaceTerminating")) return {};
  if (response->status == 409) return count_event(about, note, now);
  if (!is_success(*response)) return error_of(*response, operation);
  return {};
}

/// It was told before: count it.
Result<void> HttpApi::count_event(const core::Service& about, const core::EventNote& note,
                                  core::Timestamp now) {
  const auto operation = "count event " + note.reason + " about " + named(about.key);
  const auto target = events_path(about.key.ns) + "/" + event_name(about, note);
  const auto before = call(request("GET", target), operation);
  if (!before) return before.error();
  const auto event = parse_json(before->body);
  const bool counted =
      event.is_object() && event.contains("count") && event["count"].is_number_unsigned();
  const auto count = counted ? event["count"].get<std::uint64_t>() : 1;
  const auto done = call(
      request("PATCH", target, "application/merge-patch+json", encode_event_count(count + 1, now)),
      operation);
  if (!done) return done.error();
  return {};
}
}  // namespace

std::shared_ptr<Api> make_api(std::shared_ptr<http::Client> client, std::string cluster) {
  return std::make_shared<HttpApi>(std::move(client), std::move(cluster));
}

}  // namespace kindlb::kube
