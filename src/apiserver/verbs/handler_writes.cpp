#include "object_meta.hpp"
#include "serializer/body.hpp"
#include "verbs/handler.hpp"

#include <fmt/format.h>

namespace kindlb::apiserver {

namespace {
constexpr std::size_t kMaxWarnings = 4096;

/// What the real server takes for a manager's name when none is given.
std::string manager_of(const Call& call) {
  const auto named = call.parameter("fieldManager");
  if (!named.empty()) return named;
  const auto agent = call.user_agent.substr(0, call.user_agent.find('/'));
  return agent.empty() ? "unknown" : agent;
}

Outcome<WriteOptions> options_of(const Call& call, const Target& target) {
  WriteOptions options;
  options.manager = manager_of(call);
  options.subresource = target.subresource;
  const auto dry_run = call.parameter("dryRun");
  if (!dry_run.empty() && dry_run != "All")
    return bad_request("dryRun: Unsupported value: \"" + dry_run + "\"");
  options.dry_run = !dry_run.empty();
  options.force = call.parameter("force") == "true";
  options.strict = call.parameter("fieldValidation") == "Strict";
  return options;
}

/// "Warn" is the default; "Ignore" wants silence. Headers have no room for thousands.
void add_warnings(Answer& answer, const Call& call, const std::vector<std::string>& warnings) {
  if (call.parameter("fieldValidation") == "Ignore") return;
  std::size_t total = 0;
  for (const auto& warning : warnings) {
    total += warning.size();
    if (total > kMaxWarnings) return;
    std::string text;
    for (const char c : warning) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) continue;
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
    answer.headers.emplace_back("Warning", "299 - \"" + text + "\"");
  }
}

Answer written_answer(const Outcome<Written>& result, const Call& call) {
  if (!result) return refused(result.refusal());
  Answer answer;
  answer.code = result->created ? 201 : 200;
  answer.body = result->object->text + "\n";
  add_warnings(answer, call, result->warnings);
  return answer;
}

std::optional<PatchType> patch_type(const std::string& content_type) {
  const auto type = content_type.substr(0, content_type.find(';'));
  if (type == "application/json-patch+json") return PatchType::JsonPatch;
  if (type == "application/merge-patch+json") return PatchType::MergePatch;
  if (type == "application/strategic-merge-patch+json") return PatchType::Strategic;
  if (type == "application/apply-patch+yaml") return PatchType::Apply;
  return std::nullopt;
}

Outcome<DeleteOptions> delete_options(const Call& call) {
  DeleteOptions options;
  options.dry_run = call.parameter("dryRun") == "All";
  if (call.body.empty()) return options;
  const auto body = read_body(call.body, call.content_type, "DeleteOptions");
  if (!body) return body.refusal();
  options.uid = text_at(*body, {"preconditions", "uid"});
  options.resource_version = text_at(*body, {"preconditions", "resourceVersion"});
  options.dry_run = options.dry_run || !list_at(*body, {"dryRun"}).empty();
  return options;
}

/// Kinds whose deletion is answered with the object; the others get a Status.
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

Answer Handler::create(const Call& call, const Target& target) {
  const auto options = options_of(call, target);
  if (!options) return refused(options.refusal());
  const auto body = read_body(call.body, call.content_type, target.resource->kind);
  if (!body) return refused(body.refusal());
  // A namespaced object may be posted to the collection of all namespaces only if it says where.
  if (target.resource->namespaced && target.ns.empty()) return refused(method_not_allowed());
  return written_answer(api_.create(*target.resource, target.ns, *body, *options), call);
}

Answer Handler::update(const Call& call, const Target& target) {
  const auto options = options_of(call, target);
  if (!options) return refused(options.refusal());
  const auto body = read_body(call.body, call.content_type, target.resource->kind);
  if (!body) return refused(body.refusal());
  return written_answer(api_.update(*target.resource, {target.ns, target.name}, *body, *options),
                        call);
}

Answer Handler::patch(const Call& call, const Target& target) {
  const auto type = patch_type(call.content_type);
  if (!type)
    return refused({.code = 415,
                    .reason = "UnsupportedMediaType",
                    .message = "the body of the request was in an unknown format - accepted media "
                               "types include: application/json-patch+json, "
                               "application/merge-patch+json, "
                               "application/strategic-merge-patch+json, "
                               "application/apply-patch+yaml"});
  const auto options = options_of(call, target);
  if (!options) return refused(options.refusal());
  if (*type == PatchType::Apply && call.parameter("fieldManager").empty())
    return refused({.code = 422,
                    .reason = "Invalid",
                    .message = "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required "
                               "value: is required for apply patch",
                    .group = "meta.k8s.io",
                    .kind = "PatchOptions",
                    .causes = {{"FieldValueRequired", "Required value: is required for apply patch",
                                "fieldManager"}}});
  const auto body = read_body(call.body, call.content_type, target.resource->kind);
  if (!body) return refused(body.refusal());
  return written_answer(
      api_.patch(*target.resource, {target.ns, target.name}, *type, *body, *options), call);
}

Answer Handler::remove(const Call& call, const Target& target) {
  const auto options = delete_options(call);
  if (!options) return refused(options.refusal());
  const auto result = api_.remove(*target.resource, {target.ns, target.name}, *options);
  if (!result) return refused(result.refusal());
  const auto& object = (*result)->value;
  const bool pending = find(object, {"metadata", "deletionTimestamp"}) != nullptr;
  if (pending || returns_deleted(*target.resource))
    return {.code = 200, .body = (*result)->text + "\n"};
  return json_answer(success(*target.resource, object));
}

Answer Handler::remove_collection(const Call& call, const Target& target) {
  if (target.resource->namespaced && target.ns.empty()) return refused(method_not_allowed());
  const auto options = delete_options(call);
  if (!options) return refused(options.refusal());
  Call listing = call;
  listing.accept.clear();
  auto answer = list(listing, target);
  if (answer.code != 200) return answer;
  const auto listed = parse_bounded(answer.body);
  for (const auto& object : list_at(listed, {"items"})) {
    const auto gone = api_.remove(*target.resource, key_of(object), *options);
    // Somebody else was faster, or holds it: neither keeps the others.
    if (!gone && gone.refusal().code != 404) return refused(gone.refusal());
  }
  return answer;
}

}  // namespace kindlb::apiserver
