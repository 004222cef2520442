#include "kindlb/base/text.hpp"
#include "object_meta.hpp"
#include "serializer/body.hpp"
#include "verbs/handler.hpp"

#include <fmt/format.h>

namespace kindlb::apiserver {

namespace {
constexpr std::size_t kMaxWarnings = 4096;

/// fieldManager, or as kube-apiserver defaults it: the part of the user agent before the slash.
std::string manager_of(const Request& request) {
  auto named = request.parameter("fieldManager");
  if (!named.empty()) return named;
  const auto agent = request.user_agent.substr(0, request.user_agent.find('/'));
  return agent.empty() ? "unknown" : agent;
}

ApiResult<WriteOptions> options_of(const Request& request, const RequestInfo& info) {
  WriteOptions options;
  options.manager = manager_of(request);
  options.subresource = info.subresource;
  const auto dry_run = request.parameter("dryRun");
  if (!dry_run.empty() && dry_run != "All")
    return bad_request("dryRun: Unsupported value: \"" + dry_run + "\"");
  options.dry_run = !dry_run.empty();
  options.force = request.parameter("force") == "true";
  options.strict = request.parameter("fieldValidation") == "Strict";
  return options;
}

/// Add Warning headers unless fieldValidation is Ignore (the default is Warn). Bounded, since
/// clients limit the size of headers.
void add_warnings(Response& response, const Request& request,
                  const std::vector<std::string>& warnings) {
  if (request.parameter("fieldValidation") == "Ignore") return;
  std::size_t total = 0;
  for (const auto& warning : warnings) {
    total += warning.size();
    if (total > kMaxWarnings) return;
    // As quoted-string of RFC 9110; control characters would end the header.
    std::string text;
    for (const char c : warning) {
      if (base::is_control(c)) continue;
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
    response.headers.emplace_back("Warning", "299 - \"" + text + "\"");
  }
}

Response write_response(const ApiResult<WriteResult>& result, const Request& request) {
  if (!result) return error_response(result.error());
  Response response;
  response.code = result->created ? 201 : 200;
  response.body = result->object->text + "\n";
  add_warnings(response, request, result->warnings);
  return response;
}

/// Content type of the body, parameters ignored.
std::optional<PatchType> patch_type(const std::string& content_type) {
  const auto type = content_type.substr(0, content_type.find(';'));
  if (type == "application/json-patch+json") return PatchType::JsonPatch;
  if (type == "application/merge-patch+json") return PatchType::MergePatch;
  if (type == "application/strategic-merge-patch+json") return PatchType::Strategic;
  if (type == "application/apply-patch+yaml") return PatchType::Apply;
  return std::nullopt;
}

ApiResult<DeleteOptions> delete_options(const Request& request) {
  DeleteOptions options;
  options.dry_run = request.parameter("dryRun") == "All";
  if (request.body.empty()) return options;
  const auto body = read_body(request.body, request.content_type, "DeleteOptions");
  if (!body) return body.error();
  options.uid = text_at(*body, {"preconditions", "uid"});
  options.resource_version = text_at(*body, {"preconditions", "resourceVersion"});
  options.dry_run = options.dry_run || !list_at(*body, {"dryRun"}).empty();
  return options;
}

/// Kinds whose DELETE returns the object (ReturnDeletedObject); others return a Status.
bool returns_deleted(const Resource& resource) {
  return &resource == &services() || &resource == &pods() || &resource == &namespaces();
}

Json success(const Resource& resource, const Json& object) {
  Json details{{"name", text_at(object, {"metadata", "name"})},
               {"kind", resource.plural},
               {"uid", text_at(object, {"metadata", "uid"})}};
  if (!resource.group.empty()) details["group"] = resource.group;
  return {{"kind", "Status"},
          {"apiVersion", "v1"},
          {"metadata", Json::object()},
          {"status", "Success"},
          {"details", details}};
}
}  // namespace

Response Handler::create(const Request& request, const RequestInfo& info) {
  const auto options = options_of(request, info);
  if (!options) return error_response(options.error());
  const auto body = read_body(request.body, request.content_type, info.resource->kind);
  if (!body) return error_response(body.error());
  // POST /api/v1/services: kube-apiserver has no such route for namespaced resources.
  if (info.resource->namespaced && info.ns.empty()) return error_response(method_not_allowed());
  return write_response(api_.create(*info.resource, info.ns, *body, *options), request);
}

Response Handler::update(const Request& request, const RequestInfo& info) {
  const auto options = options_of(request, info);
  if (!options) return error_response(options.error());
  const auto body = read_body(request.body, request.content_type, info.resource->kind);
  if (!body) return error_response(body.error());
  return write_response(api_.update(*info.resource, {info.ns, info.name}, *body, *options),
                        request);
}

Response Handler::patch(const Request& request, const RequestInfo& info) {
  const auto type = patch_type(request.content_type);
  if (!type)
    return error_response({.code = 415,
                           .reason = "UnsupportedMediaType",
                           .message =
                               "the body of the request was in an unknown format - accepted media "
                               "types include: application/json-patch+json, "
                               "application/merge-patch+json, "
                               "application/strategic-merge-patch+json, "
                               "application/apply-patch+yaml"});
  const auto options = options_of(request, info);
  if (!options) return error_response(options.error());
  if (*type == PatchType::Apply && request.parameter("fieldManager").empty())
    return error_response(
        {.code = 422,
         .reason = "Invalid",
         .message = "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required "
                    "value: is required for apply patch",
         .group = "meta.k8s.io",
         .kind = "PatchOptions",
         .causes = {{"FieldValueRequired", "Required value: is required for apply patch",
                     "fieldManager"}}});
  const auto body = read_body(request.body, request.content_type, info.resource->kind);
  if (!body) return error_response(body.error());
  return write_response(api_.patch(*info.resource, {info.ns, info.name}, *type, *body, *options),
                        request);
}

Response Handler::remove(const Request& request, const RequestInfo& info) {
  const auto options = delete_options(request);
  if (!options) return error_response(options.error());
  const auto result = api_.remove(*info.resource, {info.ns, info.name}, *options);
  if (!result) return error_response(result.error());
  const auto& object = (*result)->value;
  const bool pending = is_terminating(object);
  if (pending || returns_deleted(*info.resource))
    return {.code = 200, .body = (*result)->text + "\n"};
  return json_response(success(*info.resource, object));
}

/// Delete what a list with the same selectors returns, one by one, and return that list.
Response Handler::remove_collection(const Request& request, const RequestInfo& info) {
  if (info.resource->namespaced && info.ns.empty()) return error_response(method_not_allowed());
  const auto options = delete_options(request);
  if (!options) return error_response(options.error());
  Request listing = request;
  listing.accept.clear();
  auto response = list(listing, info);
  if (response.code != 200) return response;
  const auto listed = parse_bounded(response.body);
  for (const auto& object : list_at(listed, {"items"})) {
    const auto gone = api_.remove(*info.resource, key_of(object), *options);
    // Deleted by another client meanwhile: continue with the others.
    if (!gone && gone.error().code != 404) return error_response(gone.error());
  }
  return response;
}

}  // namespace kindlb::apiserver
