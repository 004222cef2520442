#include "kindlb/kube/api.hpp"

#include "call.hpp"
#include "codec.hpp"
#include "encode.hpp"
#include "kindlb/json/json.hpp"
#include "paths.hpp"
#include "status.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

namespace kindlb::kube {

namespace {
using core::Error;
using core::ErrorKind;
using core::Result;

/// Each attempt reads the Service anew, so a conflict means that another writer was faster eight
/// times in a row. The caller's work queue retries later.
constexpr int kReleaseAttempts = 8;

std::string display_name(const core::ServiceKey& key) {
  return key.ns + "/" + key.name;
}

/// Stateless but for the client: safe to use from many threads.
class HttpApi final : public Api {
 public:
  HttpApi(std::shared_ptr<http::Client> client, std::string cluster)
      : client_(std::move(client)), cluster_(std::move(cluster)) {}

  Result<std::string> server_version(std::stop_token stop) override {
    return field_of("/version", "get the server's version", {"gitVersion"}, std::move(stop));
  }

  Result<std::string> cluster_uid() override {
    return field_of("/api/v1/namespaces/kube-system", "read namespace kube-system",
                    {"metadata", "uid"}, {});
  }

  Result<core::Service> apply_status(const core::StatusApply& apply) override;
  Result<void> release(const ReleasePatch& patch) override;
  Result<void> emit(const core::Service& about, const core::EventNote& note) override;

 private:
  Result<http::Response> call(const http::Request& request, const std::string& operation,
                              std::stop_token stop = {}) {
    return kube::call(*client_, request, operation, std::move(stop));
  }
  Result<std::string> field_of(const std::string& target, const std::string& operation,
                               json::Path path, std::stop_token stop);
  Error classify_refusal(const core::StatusApply& apply, Error error);
  Result<void> count_event(const core::Service& about, const core::EventNote& note,
                           core::Timestamp now);
  Result<ReleaseStep> next_release_step(const ReleasePatch& patch, const std::string& operation);

  std::shared_ptr<http::Client> client_;
  std::string cluster_;
};

Result<std::string> HttpApi::field_of(const std::string& target, const std::string& operation,
                                      json::Path path, std::stop_token stop) {
  const auto response = call(make_request("GET", target), operation, std::move(stop));
  if (!response) return response.error();
  const auto json = parse_json(response->body);
  auto value = json::text_at(json, path);
  if (value.empty())
    return Error{ErrorKind::Protocol, operation,
                 fmt::format("the answer has no {}", fmt::join(path, "."))};
  return value;
}

Result<core::Service> HttpApi::apply_status(const core::StatusApply& apply) {
  const auto operation = "apply status of " + display_name(apply.key);
  // The uid in the body is the precondition. Without it an apply to a Service that is gone would be
  // taken for its creation, and one to a namesake would write our status onto a stranger's Service.
  if (apply.uid.empty()) return Error{ErrorKind::Invalid, operation, "no uid was given"};
  const auto target =
      service_path(apply.key) + "/status?fieldManager=" + core::kFieldManager + "&force=true";
  const auto response =
      call(make_request("PATCH", target, "application/apply-patch+yaml", encode_apply(apply)),
           operation);
  if (!response) return classify_refusal(apply, response.error());
  return decode_service(parse_json(response->body), cluster_);
}

/// Turn the refusal of an apply into NotFound if the Service we meant is gone. A uid that no longer
/// matches gives 422 when a Service of the same name exists (the uid is immutable) and 409 when
/// none does, but both codes have other reasons too. Instead of interpreting the server's message,
/// look whether the object is still there.
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
  const auto response = call(make_request("GET", service_path(patch.key)), operation);
  if (response) return plan_release(response->body, patch);
  if (response.error().kind != ErrorKind::NotFound) return response.error();
  return ReleaseStep{.gone = true, .patch = {}, .resource_version = {}};
}

Result<void> HttpApi::release(const ReleasePatch& patch) {
  const auto operation = "release " + display_name(patch.key);
  const auto target = service_path(patch.key) + "/status?fieldManager=" + core::kFieldManager;
  // Read, patch what was read, and start over when the Service changed in between: the patch tests
  // the resourceVersion. Fields that another manager co-owns are removed too, which an apply cannot
  // do (docs/contract.md §1). A patch to /status may also change metadata: status, annotation and
  // finalizer are removed in one write.
  Error refusal{ErrorKind::Conflict, operation, "never tried"};
  std::string refused_version;
  for (int attempt = 0; attempt < kReleaseAttempts; ++attempt) {
    const auto step = next_release_step(patch, operation);
    if (!step) return step.error();
    if (step->gone || step->patch.empty()) return {};
    // A failed test and a patch the server rejects for its content are both 422. If the Service has
    // not changed since the refusal, the test cannot have been the reason: retrying is pointless.
    if (step->resource_version == refused_version) return refusal;
    const auto done =
        call(make_request("PATCH", target, "application/json-patch+json", step->patch), operation);
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
  const auto operation = "emit event " + note.reason + " about " + display_name(about.key);
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto response = client_->send(make_request(
      "POST", events_path(about.key.ns), "application/json", encode_event(about, note, now)));
  if (!response) return with_operation(response.error(), operation);
  // A namespace that is being deleted takes no new objects, and its Events would go with it.
  if (response->status == 403 && has_cause(response->body, "NamespaceTerminating")) return {};
  if (response->status == 409) return count_event(about, note, now);
  if (response->status / 100 != 2) return error_of(*response, operation);
  return {};
}

/// The same Event exists already: increase its count, as client-go's recorder does. Two writers at
/// once may lose a count, which is harmless.
Result<void> HttpApi::count_event(const core::Service& about, const core::EventNote& note,
                                  core::Timestamp now) {
  const auto operation = "count event " + note.reason + " about " + display_name(about.key);
  const auto target = events_path(about.key.ns) + "/" + event_name(about, note);
  const auto before = call(make_request("GET", target), operation);
  if (!before) return before.error();
  const auto event = parse_json(before->body);
  const auto count = std::max<std::int64_t>(json::number_at(event, {"count"}), 1);
  const auto done =
      call(make_request("PATCH", target, "application/merge-patch+json",
                        encode_event_count(static_cast<std::uint64_t>(count) + 1, now)),
           operation);
  if (!done) return done.error();
  return {};
}
}  // namespace

std::shared_ptr<Api> make_api(std::shared_ptr<http::Client> client, std::string cluster) {
  return std::make_shared<HttpApi>(std::move(client), std::move(cluster));
}

}  // namespace kindlb::kube
