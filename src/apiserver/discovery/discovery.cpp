#include "discovery/discovery.hpp"

#include "schema/resources.hpp"

#include <fmt/format.h>

#include <set>

namespace kindlb::apiserver {

namespace {
/// The Kubernetes minor version that is reported; kubectl supports one more or less than its own.
constexpr const char* kMinor = "34";

Json version() {
  const auto git = fmt::format("v1.{}.0+kindlb-sandbox", kMinor);
  return {{"major", "1"},        {"minor", kMinor},    {"gitVersion", git},
          {"gitCommit", ""},     {"gitTreeState", ""}, {"buildDate", "1970-01-01T00:00:00Z"},
          {"goVersion", "none"}, {"compiler", "g++"},  {"platform", "linux/amd64"}};
}

Json group_of(const std::string& name, const std::string& version) {
  const Json each{{"groupVersion", name + "/" + version}, {"version", version}};
  return {{"name", name}, {"versions", Json::array({each})}, {"preferredVersion", each}};
}

std::set<std::string> groups() {
  std::set<std::string> out;
  for (const auto& resource : resources())
    if (!resource.group.empty()) out.insert(resource.group);
  return out;
}

Json group_list() {
  Json list = Json::array();
  for (const auto& name : groups()) list.push_back(group_of(name, "v1"));
  return {{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", list}};
}

/// The legacy group "" is discovered through /api, all others through /apis.
Json core_versions() {
  return {{"kind", "APIVersions"},
          {"versions", Json::array({"v1"})},
          {"serverAddressByClientCIDRs", Json::array()}};
}

Json resource_of(const Resource& resource) {
  Json out{{"name", resource.plural},
           {"singularName", resource.singular},
           {"namespaced", resource.namespaced},
           {"kind", resource.kind},
           {"verbs",
            {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}}};
  if (!resource.short_names.empty()) out["shortNames"] = resource.short_names;
  if (!resource.categories.empty()) out["categories"] = resource.categories;
  return out;
}

/// Subresources are separate entries; kubectl uses this one for --subresource=status.
Json status_of(const Resource& resource) {
  return {{"name", resource.plural + "/status"},
          {"singularName", ""},
          {"namespaced", resource.namespaced},
          {"kind", resource.kind},
          {"verbs", {"get", "patch", "update"}}};
}

std::optional<Json> resource_list(const std::string& path) {
  Json list = Json::array();
  std::string version;
  for (const auto& resource : resources()) {
    if (resource.prefix() != path) continue;
    version = resource.api_version();
    list.push_back(resource_of(resource));
    if (resource.has_status) list.push_back(status_of(resource));
  }
  if (list.empty()) return std::nullopt;
  return Json{{"kind", "APIResourceList"},
              {"apiVersion", "v1"},
              {"groupVersion", version},
              {"resources", list}};
}
}  // namespace

std::optional<Json> discovery(const std::string& path) {
  if (path == "/version") return version();
  if (path == "/api") return core_versions();
  if (path == "/apis") return group_list();
  for (const auto& name : groups()) {
    if (path != "/apis/" + name) continue;
    auto group = group_of(name, "v1");
    group["kind"] = "APIGroup";
    group["apiVersion"] = "v1";
    return group;
  }
  return resource_list(path);
}

}  // namespace kindlb::apiserver
