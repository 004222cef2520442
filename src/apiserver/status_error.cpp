#include "status_error.hpp"

#include "schema/resources.hpp"

#include <fmt/format.h>

namespace kindlb::apiserver {

namespace {
/// "services", "endpointslices.discovery.k8s.io"
std::string qualified(const Resource& resource) {
  return resource.group.empty() ? resource.plural : resource.plural + "." + resource.group;
}

/// An error about one object of a resource.
StatusError about(int code, const char* reason, const Resource& resource, const std::string& name,
                  std::string message) {
  return {.code = code,
          .reason = reason,
          .message = std::move(message),
          .group = resource.group,
          .kind = resource.plural,
          .name = name};
}

Json causes_of(const StatusError& error) {
  Json out = Json::array();
  for (const auto& cause : error.causes) {
    Json entry{{"message", cause.message}};
    if (!cause.reason.empty()) entry["reason"] = cause.reason;
    if (!cause.field.empty()) entry["field"] = cause.field;
    out.push_back(std::move(entry));
  }
  return out;
}

Json details_of(const StatusError& error) {
  Json details = Json::object();
  if (!error.name.empty()) details["name"] = error.name;
  if (!error.group.empty()) details["group"] = error.group;
  if (!error.kind.empty()) details["kind"] = error.kind;
  if (!error.causes.empty()) details["causes"] = causes_of(error);
  if (error.retry_after > 0) details["retryAfterSeconds"] = error.retry_after;
  return details;
}

/// As apimachinery's aggregate prints errors: one as it is, several as a bracketed list.
std::string joined(const std::vector<Cause>& causes) {
  std::string text;
  for (const auto& cause : causes) {
    if (!text.empty()) text += ", ";
    text += cause.field.empty() ? cause.message : cause.field + ": " + cause.message;
  }
  return causes.size() > 1 ? "[" + text + "]" : text;
}
}  // namespace

Json to_status(const StatusError& error) {
  Json out{{"kind", "Status"},    {"apiVersion", "v1"},       {"metadata", Json::object()},
           {"status", "Failure"}, {"message", error.message}, {"reason", error.reason},
           {"code", error.code}};
  if (auto details = details_of(error); !details.empty()) out["details"] = std::move(details);
  return out;
}

StatusError not_found(const Resource& resource, const std::string& name) {
  return about(404, "NotFound", resource, name,
               fmt::format("{} \"{}\" not found", qualified(resource), name));
}

StatusError no_such_path() {
  return {.code = 404,
          .reason = "NotFound",
          .message = "the server could not find the requested resource"};
}

StatusError already_exists(const Resource& resource, const std::string& name) {
  return about(409, "AlreadyExists", resource, name,
               fmt::format("{} \"{}\" already exists", qualified(resource), name));
}

StatusError conflict(const Resource& resource, const std::string& name, const std::string& why) {
  return about(409, "Conflict", resource, name,
               fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", qualified(resource),
                           name, why));
}

StatusError optimistic_lock_error(const Resource& resource, const std::string& name) {
  return conflict(resource, name,
                  "the object has been modified; please apply your changes to the latest version "
                  "and try again");
}

StatusError forbidden(const Resource& resource, const std::string& name, const std::string& why) {
  return about(403, "Forbidden", resource, name,
               fmt::format("{} \"{}\" is forbidden: {}", qualified(resource), name, why));
}

StatusError bad_request(std::string message) {
  return {.code = 400, .reason = "BadRequest", .message = std::move(message)};
}

StatusError invalid(const Resource& resource, const std::string& name, std::vector<Cause> causes) {
  // Invalid reports the kind (Service), other errors the resource (services).
  const auto kind = resource.group.empty() ? resource.kind : resource.kind + "." + resource.group;
  auto message = fmt::format("{} \"{}\" is invalid: {}", kind, name, joined(causes));
  return {.code = 422,
          .reason = "Invalid",
          .message = std::move(message),
          .group = resource.group,
          .kind = resource.kind,
          .name = name,
          .causes = std::move(causes)};
}

StatusError expired(std::string message) {
  return {.code = 410, .reason = "Expired", .message = std::move(message)};
}

StatusError method_not_allowed() {
  return {.code = 405,
          .reason = "MethodNotAllowed",
          .message = "the server does not allow this method on the requested resource"};
}

StatusError too_many(std::string message, int retry_after) {
  return {.code = 429,
          .reason = "TooManyRequests",
          .message = std::move(message),
          .retry_after = retry_after};
}

StatusError internal(const std::string& message) {
  return {.code = 500,
          .reason = "InternalError",
          .message = "Internal error occurred: " + message,
          .causes = {{"", message, ""}}};
}

}  // namespace kindlb::apiserver
