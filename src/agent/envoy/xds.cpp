#include "envoy/xds.hpp"

#include "kindlb/base/number.hpp"
#include "kindlb/json/json.hpp"
#include "liveness/liveness_listener.hpp"

#include <algorithm>
#include <set>

namespace kindlb::agent {
namespace {

constexpr std::size_t kMaxFileName = 200;
/// The unit's file in the state directory has its name, in which a byte may take three characters;
/// file names are limited to 255.
constexpr std::size_t kMaxUnitName = 80;
/// Versions to remember per resource. Envoy never lags behind by more than the pending update; what
/// is active may be older, but then its content has not changed since, and it is the last entry.
constexpr std::size_t kRemembered = 16;

bool is_file_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

bool is_file_name(const std::string& name) {
  return !name.empty() && name.size() <= kMaxFileName && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), is_file_character);
}

/// Return why `body` is not one typed object whose `field` is `name`.
std::string body_problem(const std::string& body, const char* field, const std::string& name) {
  const auto parsed = json::parse_bounded(body);
  if (!parsed.is_object()) return "is not a JSON object";
  const auto type = parsed.find("@type");
  if (type == parsed.end() || !type->is_string()) return "has no @type";
  const auto found = parsed.find(field);
  if (found == parsed.end() || !found->is_string() || found->get_ref<const std::string&>() != name)
    return std::string("has another ") + field;
  return {};
}

/// Its name is the agent's own: see liveness_listener.hpp.
bool is_reserved(const protocol::Resource& resource) {
  return resource.name == kLivenessListener;
}

std::string resources_problem(const char* kind, const std::vector<protocol::Resource>& resources) {
  std::set<std::string> names;
  for (const auto& resource : resources) {
    const auto problem = body_problem(resource.body, "name", resource.name);
    if (!problem.empty()) return std::string(kind) + " " + resource.name + " " + problem;
    if (is_reserved(resource)) return std::string(kind) + " " + resource.name + " is reserved";
    if (!names.insert(resource.name).second)
      return std::string(kind) + " " + resource.name + " is defined twice";
  }
  return {};
}

std::string assignments_problem(const std::vector<protocol::Assignment>& assignments) {
  std::set<std::string> files;
  for (const auto& assignment : assignments) {
    const auto problem = body_problem(assignment.body, "cluster_name", assignment.cluster);
    if (!problem.empty()) return "assignment " + assignment.cluster + " " + problem;
    if (!is_file_name(assignment.file))
      return "assignment " + assignment.cluster + " has an invalid file name";
    if (!files.insert(assignment.file).second) return "file " + assignment.file + " is used twice";
  }
  return {};
}

/// Return a DiscoveryResponse with these resources.
template <typename Bodies>
std::string response(XdsVersion version, const Bodies& bodies) {
  std::string out = R"({"version_info":")" + std::to_string(version) + R"(","resources":[)";
  const char* separator = "\n";
  for (const auto& body : bodies) {
    out += separator;
    out += body;
    separator = ",\n";
  }
  return out + "\n]}\n";
}

std::vector<std::string> bodies_of(const std::map<std::string, std::string>& resources) {
  std::vector<std::string> out;
  out.reserve(resources.size());
  for (const auto& [name, body] : resources) out.push_back(body);
  return out;
}

/// Return the files that changed in version `since` or later, each as of its last change.
std::vector<XdsFile> files_since(const XdsHistory& history, XdsVersion since) {
  const auto& snapshot = history.snapshot();
  std::vector<XdsFile> files;
  for (const auto& [file, endpoints] : snapshot.endpoints)
    if (const auto version = history.endpoints_version(file); version >= since)
      files.push_back({"eds/" + file, response(version, std::vector{endpoints.body})});
  if (const auto version = history.clusters_version(); version >= since)
    files.push_back({"cds.json", response(version, bodies_of(snapshot.clusters))});
  if (const auto version = history.listeners_version(); version >= since)
    files.push_back({"lds.json", response(version, bodies_of(snapshot.listeners))});
  return files;
}

}  // namespace

std::string invalid_reason(const protocol::Unit& unit) {
  if (unit.unit.empty() || unit.unit.size() > kMaxUnitName)
    return "the unit's name is empty or longer than 80 bytes";
  for (const auto& route : unit.routes)
    if (route.to.address.family() != route.via.family())
      return "route " + route.to.text() + " has a gateway of the other IP family";
  for (const auto& rule : unit.udp_rules)
    if (rule.at.port == 0) return "a UDP rule has no port";
  auto problem = resources_problem("listener", unit.listeners);
  if (problem.empty()) problem = resources_problem("listener", unit.listeners_behind_rules);
  if (problem.empty()) problem = resources_problem("cluster", unit.clusters);
  if (problem.empty()) problem = assignments_problem(unit.assignments);
  return problem;
}

std::optional<core::Target> udp_socket_of(const std::string& listener_body) {
  const auto parsed = json::parse_bounded(listener_body);
  const auto& socket = json::map_at(parsed, {"address", "socket_address"});
  if (json::text_at(socket, {"protocol"}) != "UDP") return std::nullopt;
  const auto address = core::IpAddress::parse(json::text_at(socket, {"address"}));
  const auto* port = json::find(socket, {"port_value"});
  if (!address || port == nullptr || !port->is_number_unsigned()) return std::nullopt;
  return core::Target{*address, port->get<std::uint16_t>()};
}

bool add_unit(XdsSnapshot& snapshot, const protocol::Unit& unit, std::string& conflict) {
  for (const auto& listener : unit.listeners)
    if (!snapshot.listeners.emplace(listener.name, listener.body).second)
      conflict = "listener " + listener.name;
  for (const auto& cluster : unit.clusters)
    if (!snapshot.clusters.emplace(cluster.name, cluster.body).second)
      conflict = "cluster " + cluster.name;
  for (const auto& assignment : unit.assignments)
    if (!snapshot.endpoints
             .emplace(assignment.file, XdsSnapshot::Endpoints{assignment.cluster, assignment.body})
             .second)
      conflict = "file " + assignment.file;
  return conflict.empty();
}

/// A type's version moves only when its file changes: Envoy is not given a file again that has the
/// same resources, so it will never report a later version of it.
void XdsHistory::record(const XdsSnapshot& snapshot, XdsVersion now) {
  const bool first = version_ == 0;
  if (first || snapshot.listeners != snapshot_.listeners) listeners_version_ = now;
  if (first || snapshot.clusters != snapshot_.clusters) clusters_version_ = now;
  extend(listeners_, snapshot.listeners, now);
  extend(clusters_, snapshot.clusters, now);
  std::erase_if(endpoints_,
                [&](const auto& entry) { return !snapshot.endpoints.contains(entry.first); });
  for (const auto& [file, endpoints] : snapshot.endpoints) {
    const auto former = snapshot_.endpoints.find(file);
    if (former == snapshot_.endpoints.end() || former->second != endpoints) endpoints_[file] = now;
  }
  snapshot_ = snapshot;
  version_ = now;
}

/// Removal is an entry of its own, without a body: a resource that was removed and added again with
/// its old content must not count as current in a version between the two. Entries of resources
/// that have been gone for long are dropped, so the history is bounded.
void XdsHistory::extend(Spans& spans, const std::map<std::string, std::string>& bodies,
                        XdsVersion now) {
  for (auto& [name, list] : spans)
    if (list.back().body && !bodies.contains(name)) list.push_back({now, std::nullopt});
  for (const auto& [name, body] : bodies) {
    auto& list = spans[name];
    if (list.empty() || list.back().body != body) list.push_back({now, body});
    if (list.size() > kRemembered) list.erase(list.begin());
  }
  std::erase_if(spans, [&](const auto& entry) {
    const auto& last = entry.second.back();
    return !last.body && last.since + kRemembered < now;
  });
}

/// Find the content in force in that version, which is the last entry not after it, and compare.
bool XdsHistory::is_current(const Spans& spans, const std::string& name,
                            const std::string& version) {
  const auto found = spans.find(name);
  const auto at = base::parse_number<XdsVersion>(version);
  if (found == spans.end() || !at) return false;
  const auto& wanted = found->second.back().body;
  const Span* in_force = nullptr;
  for (const auto& span : found->second)
    if (span.since <= *at) in_force = &span;
  return in_force != nullptr && wanted && in_force->body == wanted;
}

bool XdsHistory::is_listener_current(const std::string& name, const std::string& version) const {
  return is_current(listeners_, name, version);
}

bool XdsHistory::is_cluster_current(const std::string& name, const std::string& version) const {
  return is_current(clusters_, name, version);
}

XdsVersion XdsHistory::endpoints_version(const std::string& file) const {
  const auto found = endpoints_.find(file);
  return found == endpoints_.end() ? 0 : found->second;
}

bool has_reached(const std::string& version, XdsVersion expected) {
  const auto at = base::parse_number<XdsVersion>(version);
  return at && *at >= expected;
}

std::vector<XdsFile> all_files(const XdsHistory& history) {
  return files_since(history, 0);
}

std::vector<XdsFile> changed_files(const XdsHistory& history) {
  return files_since(history, history.version());
}

}  // namespace kindlb::agent
