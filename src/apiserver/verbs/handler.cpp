#include "verbs/handler.hpp"

#include "discovery/discovery.hpp"
#include "discovery/openapi.hpp"
#include "object_meta.hpp"
#include "serializer/table.hpp"
#include "verbs/paging.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace kindlb::apiserver {

namespace {
/// A watch that names no end ends by itself, as with the real server.
constexpr std::chrono::seconds kLongestWatch{3600};

std::vector<std::string> segments(const std::string& path) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin < path.size();) {
    const auto end = std::min(path.find('/', begin), path.size());
    if (end > begin) out.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

bool is_true(const std::string& text) {
  return text == "true" || text == "1";
}

bool wants_table(const Call& call) {
  return call.accept.find("as=Table") != std::string::npos;
}

std::optional<Revision> parse_revision(const std::string& text) {
  Revision value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string verb_of(const Call& call, const Target& target) {
  if (call.method == "POST") return "create";
  if (call.method == "PUT") return "update";
  if (call.method == "PATCH") return "patch";
  if (call.method == "DELETE") return "delete";
  if (is_true(call.parameter("watch"))) return "watch";
  return target.name.empty() ? "list" : "get";
}

/// Nothing: the fault leaves the answer to others.
std::optional<Refusal> refusal_of(const Fault& fault, const Target& target) {
  if (fault.kind == "conflict")
    return conflict(*target.resource, target.name,
                    "the object has been modified; please apply your changes to the latest version "
                    "and try again");
  if (fault.kind == "too-many")
    return too_many("too many requests, please try again later", fault.retry_after);
  if (fault.kind == "expired") return expired("too old resource version: told so by the sandbox");
  if (fault.kind == "error") return internal("told so by the sandbox");
  return std::nullopt;
}
}  // namespace

std::string Call::parameter(const std::string& name) const {
  const auto found = query.find(name);
  return found == query.end() ? std::string() : found->second;
}

Answer json_answer(const Json& body, int code) {
  Answer answer;
  answer.code = code;
  answer.body = dump(body) + "\n";
  return answer;
}

Answer refused(const Refusal& refusal) {
  auto answer = json_answer(to_status(refusal), refusal.code);
  if (refusal.retry_after > 0)
    answer.headers.emplace_back("Retry-After", std::to_string(refusal.retry_after));
  return answer;
}

std::optional<Target> parse_target(const std::string& path) {
  auto parts = segments(path);
  if (parts.size() < 3 || (parts[0] != "api" && parts[0] != "apis")) return std::nullopt;
  const bool core_group = parts[0] == "api";
  const auto group = core_group ? std::string() : parts[1];
  parts.erase(parts.begin(), parts.begin() + (core_group ? 1 : 2));
  if (parts.size() < 2) return std::nullopt;
  const auto version = parts[0];
  parts.erase(parts.begin());
  Target target;
  const bool in_namespace = parts[0] == "namespaces" && parts.size() > 2 && parts[2] != "status";
  if (in_namespace) {
    target.ns = parts[1];
    parts.erase(parts.begin(), parts.begin() + 2);
  }
  target.resource = find_resource(group, version, parts[0]);
  if (target.resource == nullptr || parts.size() > 3) return std::nullopt;
  if (in_namespace && !target.resource->namespaced) return std::nullopt;
  if (parts.size() > 1) target.name = parts[1];
  if (parts.size() > 2) target.subresource = parts[2];
  if (!target.subresource.empty() &&
      (target.subresource != "status" || !target.resource->has_status))
    return std::nullopt;
  if (!target.name.empty() && target.resource->namespaced && target.ns.empty()) return std::nullopt;
  return target;
}

Answer Handler::handle(const Call& call) {
  if (call.path == "/healthz" || call.path == "/readyz" || call.path == "/livez")
    return {.code = 200, .content_type = "text/plain", .body = "ok"};
  if (call.path == "/sandbox/faults") return fault_call(call);
  if (const auto known = discovery(call.path)) return json_answer(*known);
  if (const auto known = openapi(call.path)) return json_answer(*known);
  const auto target = parse_target(call.path);
  if (!target) return refused(no_such_path());
  const auto fault = faults_.next(verb_of(call, *target), target->resource->plural);
  if (!fault) return resource_call(call, *target);
  if (const auto refusal = refusal_of(*fault, *target)) return refused(*refusal);
  auto answer = resource_call(call, *target);
  answer.delay = fault->delay;
  return answer;
}

Answer Handler::fault_call(const Call& call) {
  if (call.method == "DELETE") faults_.clear();
  if (call.method != "POST") return json_answer(faults_.to_json());
  const auto json = parse_bounded(call.body);
  if (text_at(json, {"kind"}) == "drop-watches") {
    faults_.drop_watches();
    api_.store().wake();
    return json_answer(faults_.to_json());
  }
  const auto fault = Faults::parse(json);
  if (!fault) return refused(fault.refusal());
  faults_.add(*fault);
  return json_answer(faults_.to_json());
}

Answer Handler::resource_call(const Call& call, const Target& target) {
  const bool collection = target.name.empty();
  if (call.method == "GET" || call.method == "HEAD") {
    if (is_true(call.parameter("watch"))) return watch(call, target);
    return collection ? list(call, target) : get(call, target);
  }
  if (call.method == "POST" && collection) return create(call, target);
  if (call.method == "PUT" && !collection) return update(call, target);
  if (call.method == "PATCH" && !collection) return patch(call, target);
  if (call.method == "DELETE" && target.subresource.empty())
    return collection ? remove_collection(call, target) : remove(call, target);
  return refused(method_not_allowed());
}

Answer Handler::get(const Call& call, const Target& target) {
  const auto object = api_.get(*target.resource, {target.ns, target.name});
  if (!object) return refused(object.refusal());
  if (wants_table(call)) return json_answer(to_table(*target.resource, {&(*object)->value, 1}, ""));
  return {.code = 200, .body = (*object)->text + "\n"};
}

Answer Handler::list(const Call& call, const Target& target) {
  const auto& resource = *target.resource;
  const auto labels = LabelSelector::parse(call.parameter("labelSelector"));
  if (!labels) return refused(labels.refusal());
  const auto fields = FieldSelector::parse(call.parameter("fieldSelector"), resource);
  if (!fields) return refused(fields.refusal());
  const auto window = PageRequest::parse(call.parameter("limit"), call.parameter("continue"));
  if (!window) return refused(window.refusal());
  const auto version = call.parameter("resourceVersion");
  if (!version.empty() && !parse_revision(version))
    return refused(bad_request(
        fmt::format("invalid resource version: resourceVersion: Invalid value: \"{0}\": "
                    "strconv.ParseUint: parsing \"{0}\": invalid syntax",
                    version)));
  auto at = window->revision;
  if (call.parameter("resourceVersionMatch") == "Exact") at = parse_revision(version);
  const auto listing = at ? api_.store().list_at(resource, target.ns, *at)
                          : std::optional(api_.store().list(resource, target.ns));
  if (!listing)
    return refused(
        expired("The provided continue parameter is too old to display a consistent "
                "list result. You can start a new list without the continue "
                "parameter."));
  std::vector<ObjectPtr> chosen;
  for (const auto& object : listing->objects)
    if (labels->matches(map_at(object->value, {"metadata", "labels"})) &&
        fields->matches(object->value))
      chosen.push_back(object);
  auto page = cut_page(std::move(chosen), *window, listing->revision);
  if (!labels->empty() || !fields->empty()) page.remaining = 0;
  return {.code = 200,
          .body = wants_table(call) ? page_table(page, resource) : page_text(page, resource)};
}

Answer Handler::watch(const Call& call, const Target& target) {
  const auto& resource = *target.resource;
  auto field_text = call.parameter("fieldSelector");
  if (!target.name.empty())
    field_text += (field_text.empty() ? "metadata.name=" : ",metadata.name=") + target.name;
  const auto labels = LabelSelector::parse(call.parameter("labelSelector"));
  if (!labels) return refused(labels.refusal());
  const auto fields = FieldSelector::parse(field_text, resource);
  if (!fields) return refused(fields.refusal());
  WatchPlan plan;
  plan.resource = &resource;
  plan.ns = target.ns;
  plan.labels = *labels;
  plan.fields = *fields;
  const auto version = call.parameter("resourceVersion");
  if (!version.empty() && version != "0") {
    plan.after = parse_revision(version);
    if (!plan.after) return refused(bad_request("invalid resource version '" + version + "'"));
  }
  plan.initial_events = is_true(call.parameter("sendInitialEvents"));
  plan.bookmarks = is_true(call.parameter("allowWatchBookmarks"));
  plan.as_table = wants_table(call);
  const auto seconds = parse_revision(call.parameter("timeoutSeconds")).value_or(0);
  plan.timeout =
      seconds == 0
          ? kLongestWatch
          : std::min(kLongestWatch, std::chrono::seconds(std::min<Revision>(seconds, 1U << 20U)));
  Answer answer;
  answer.watch = std::move(plan);
  return answer;
}

}  // namespace kindlb::apiserver
