#include "verbs/handler.hpp"

#include "discovery/discovery.hpp"
#include "discovery/openapi.hpp"
#include "kindlb/base/number.hpp"
#include "object_meta.hpp"
#include "serializer/table.hpp"
#include "verbs/paging.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kindlb::apiserver {

namespace {
/// The longest watch, and that without timeoutSeconds. kube-apiserver ends watches by itself, too,
/// so clients have to be able to resume.
constexpr std::chrono::seconds kLongestWatch{3600};

/// Path segments; repeated slashes count as one.
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

/// kubectl get sends "application/json;as=Table;v=v1;g=meta.k8s.io, application/json".
bool wants_table(const Request& request) {
  return request.accept.find("as=Table") != std::string::npos;
}

/// The verb as RBAC and fault injection name it.
std::string verb_of(const Request& request, const RequestInfo& info) {
  if (request.method == "POST") return "create";
  if (request.method == "PUT") return "update";
  if (request.method == "PATCH") return "patch";
  if (request.method == "DELETE") return "delete";
  if (is_true(request.parameter("watch"))) return "watch";
  return info.name.empty() ? "list" : "get";
}

/// Nothing: the fault only delays the response.
std::optional<StatusError> error_of(const Fault& fault, const RequestInfo& info) {
  if (fault.kind == "conflict") return optimistic_lock_error(*info.resource, info.name);
  if (fault.kind == "too-many")
    return too_many("too many requests, please try again later", fault.retry_after);
  if (fault.kind == "expired")
    return expired("too old resource version: fault injected by the sandbox");
  if (fault.kind == "error") return internal("fault injected by the sandbox");
  return std::nullopt;
}
}  // namespace

std::string Request::parameter(const std::string& name) const {
  const auto found = query.find(name);
  return found == query.end() ? std::string() : found->second;
}

Response json_response(const Json& body, int code) {
  Response response;
  response.code = code;
  response.body = dump(body) + "\n";
  return response;
}

Response error_response(const StatusError& error) {
  auto response = json_response(to_status(error), error.code);
  if (error.retry_after > 0)
    response.headers.emplace_back("Retry-After", std::to_string(error.retry_after));
  return response;
}

std::optional<RequestInfo> parse_request_info(const std::string& path) {
  auto parts = segments(path);
  if (parts.size() < 3 || (parts[0] != "api" && parts[0] != "apis")) return std::nullopt;
  const bool core_group = parts[0] == "api";
  const auto group = core_group ? std::string() : parts[1];
  parts.erase(parts.begin(), parts.begin() + (core_group ? 1 : 2));
  if (parts.size() < 2) return std::nullopt;
  const auto version = parts[0];
  parts.erase(parts.begin());
  RequestInfo info;
  // /api/v1/namespaces/NAME/RESOURCE is inside a namespace; /api/v1/namespaces/NAME and its status
  // are the namespace itself.
  const bool in_namespace = parts[0] == "namespaces" && parts.size() > 2 && parts[2] != "status";
  if (in_namespace) {
    info.ns = parts[1];
    parts.erase(parts.begin(), parts.begin() + 2);
  }
  info.resource = find_resource(group, version, parts[0]);
  if (info.resource == nullptr || parts.size() > 3) return std::nullopt;
  if (in_namespace && !info.resource->namespaced) return std::nullopt;
  if (parts.size() > 1) info.name = parts[1];
  if (parts.size() > 2) info.subresource = parts[2];
  if (!info.subresource.empty() && (info.subresource != "status" || !info.resource->has_status))
    return std::nullopt;
  // All namespaces can be listed and watched together; a single object needs its namespace.
  if (!info.name.empty() && info.resource->namespaced && info.ns.empty()) return std::nullopt;
  return info;
}

Response Handler::handle(const Request& request) {
  if (request.path == "/healthz" || request.path == "/readyz" || request.path == "/livez")
    return {.code = 200, .content_type = "text/plain", .body = "ok"};
  if (request.path == "/sandbox/faults") return handle_faults(request);
  if (const auto known = discovery(request.path)) return json_response(*known);
  if (const auto known = openapi(request.path)) return json_response(*known);
  const auto info = parse_request_info(request.path);
  if (!info) return error_response(no_such_path());
  // Injected faults come after discovery: clients that cannot discover resources test nothing.
  const auto fault = faults_.next(verb_of(request, *info), info->resource->plural);
  if (!fault) return handle_resource(request, *info);
  if (const auto error = error_of(*fault, *info)) return error_response(*error);
  auto response = handle_resource(request, *info);
  response.delay = fault->delay;
  return response;
}

Response Handler::handle_faults(const Request& request) {
  if (request.method == "DELETE") faults_.clear();
  if (request.method != "POST") return json_response(faults_.to_json());
  const auto json = parse_bounded(request.body);
  if (text_at(json, {"kind"}) == "drop-watches") {
    faults_.drop_watches();
    api_.store().wake();
    return json_response(faults_.to_json());
  }
  const auto fault = FaultInjector::parse(json);
  if (!fault) return error_response(fault.error());
  faults_.add(*fault);
  return json_response(faults_.to_json());
}

Response Handler::handle_resource(const Request& request, const RequestInfo& info) {
  const bool collection = info.name.empty();
  if (request.method == "GET" || request.method == "HEAD") {
    if (is_true(request.parameter("watch"))) return watch(request, info);
    return collection ? list(request, info) : get(request, info);
  }
  if (request.method == "POST" && collection) return create(request, info);
  if (request.method == "PUT" && !collection) return update(request, info);
  if (request.method == "PATCH" && !collection) return patch(request, info);
  if (request.method == "DELETE" && info.subresource.empty())
    return collection ? remove_collection(request, info) : remove(request, info);
  return error_response(method_not_allowed());
}

Response Handler::get(const Request& request, const RequestInfo& info) {
  const auto object = api_.get(*info.resource, {info.ns, info.name});
  if (!object) return error_response(object.error());
  if (wants_table(request))
    return json_response(to_table(*info.resource, {&(*object)->value, 1}, ""));
  return {.code = 200, .body = (*object)->text + "\n"};
}

Response Handler::list(const Request& request, const RequestInfo& info) {
  const auto& resource = *info.resource;
  const auto labels = LabelSelector::parse(request.parameter("labelSelector"));
  if (!labels) return error_response(labels.error());
  const auto fields = FieldSelector::parse(request.parameter("fieldSelector"), resource);
  if (!fields) return error_response(fields.error());
  const auto page_request =
      PageRequest::parse(request.parameter("limit"), request.parameter("continue"));
  if (!page_request) return error_response(page_request.error());
  const auto version = request.parameter("resourceVersion");
  if (!version.empty() && !base::parse_number<Revision>(version))
    return error_response(bad_request(
        fmt::format("invalid resource version: resourceVersion: Invalid value: \"{0}\": "
                    "strconv.ParseUint: parsing \"{0}\": invalid syntax",
                    version)));
  // Pages after the first, and resourceVersionMatch=Exact, read an older revision. Other values of
  // resourceVersion ask for "not older than", which the current state always is.
  auto at = page_request->revision;
  if (request.parameter("resourceVersionMatch") == "Exact")
    at = base::parse_number<Revision>(version);
  const auto listing = at ? api_.store().list_at(resource, info.ns, *at)
                          : std::optional(api_.store().list(resource, info.ns));
  if (!listing)
    return error_response(
        expired("The provided continue parameter is too old to display a consistent "
                "list result. You can start a new list without the continue "
                "parameter."));
  std::vector<ObjectPtr> chosen;
  for (const auto& object : listing->objects)
    if (labels->matches(map_at(object->value, {"metadata", "labels"})) &&
        fields->matches(object->value))
      chosen.push_back(object);
  auto page = paginate(std::move(chosen), *page_request, listing->revision);
  // kube-apiserver does not count remaining items of a filtered list either.
  if (!labels->empty() || !fields->empty()) page.remaining = 0;
  return {
      .code = 200,
      .body = wants_table(request) ? encode_table(page, resource) : encode_list(page, resource)};
}

Response Handler::watch(const Request& request, const RequestInfo& info) {
  const auto& resource = *info.resource;
  auto field_text = request.parameter("fieldSelector");
  // GET .../NAME?watch=true is a watch of the collection, selected by name.
  if (!info.name.empty())
    field_text += (field_text.empty() ? "metadata.name=" : ",metadata.name=") + info.name;
  const auto labels = LabelSelector::parse(request.parameter("labelSelector"));
  if (!labels) return error_response(labels.error());
  const auto fields = FieldSelector::parse(field_text, resource);
  if (!fields) return error_response(fields.error());
  WatchOptions options;
  options.resource = &resource;
  options.ns = info.ns;
  options.labels = *labels;
  options.fields = *fields;
  const auto version = request.parameter("resourceVersion");
  // "0" means any state is good enough: start from the current one.
  if (!version.empty() && version != "0") {
    options.after = base::parse_number<Revision>(version);
    if (!options.after)
      return error_response(bad_request("invalid resource version '" + version + "'"));
  }
  options.initial_events = is_true(request.parameter("sendInitialEvents"));
  options.bookmarks = is_true(request.parameter("allowWatchBookmarks"));
  options.as_table = wants_table(request);
  const auto seconds =
      base::parse_number<std::uint64_t>(request.parameter("timeoutSeconds")).value_or(0);
  options.timeout =
      seconds == 0
          ? kLongestWatch
          : std::min(kLongestWatch, std::chrono::seconds(std::min<Revision>(seconds, 1U << 20U)));
  Response response;
  response.watch = std::move(options);
  return response;
}

}  // namespace kindlb::apiserver
