#include "envoy/admin.hpp"

#include "kindlb/base/number.hpp"
#include "kindlb/json/json.hpp"

#include <algorithm>

namespace kindlb::agent {
namespace {

using json::Json;
using json::text_at;
using Kind = AckStatus::Kind;

constexpr std::string_view kCluster = "cluster.";

/// A counter or gauge. Only text values (version_text) are not numbers, and those are not read
/// here.
std::uint64_t counter(std::string_view text) {
  return base::parse_number<std::uint64_t>(text).value_or(0);
}

void read_field(SubscriptionStats& into, std::string_view field, std::string_view value) {
  if (field == "version_text" && value.size() >= 2)
    into.version = value.substr(1, value.size() - 2);  // quoted
  if (field == "update_success") into.accepted = counter(value);
  if (field == "update_rejected" || field == "update_failure") into.rejected += counter(value);
}

void read_stat(AdminStats& into, std::string_view name, std::string_view value) {
  if (name == "server.state") into.live = value == "0";
  if (name == "listener_manager.total_listeners_warming") into.warming_listeners = counter(value);
  if (name == "cluster_manager.warming_clusters") into.warming_clusters = counter(value);
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos) return;
  const auto scope = name.substr(0, dot);
  const auto field = name.substr(dot + 1);
  if (scope == "listener_manager.lds") read_field(into.lds, field, value);
  if (scope == "cluster_manager.cds") read_field(into.cds, field, value);
  if (scope.starts_with(kCluster))
    read_field(into.eds[std::string(scope.substr(kCluster.size()))], field, value);
}

/// Call `visit` for each entry of a dump. Envoy leaves "configs" out of an empty one. False if the
/// text is not a dump.
template <typename Visit>
bool each_config(std::string_view text, Visit visit) {
  const auto dump = json::parse_bounded(text);
  if (!dump.is_object()) return false;
  const auto configs = dump.find("configs");
  if (configs == dump.end()) return true;
  if (!configs->is_array()) return false;
  for (const auto& config : *configs) visit(config);
  return true;
}

const DumpedResource& look_up(const std::map<std::string, DumpedResource>& in,
                              const std::string& name) {
  static const DumpedResource kAbsent;
  const auto found = in.find(name);
  return found == in.end() ? kAbsent : found->second;
}

/// Rejected resources leave no trace of their version: one that is neither current nor warming,
/// after Envoy has processed the update, was rejected.
AckStatus resource_status(const DumpedResource& seen, bool active_is_current) {
  if (active_is_current && seen.warming.empty()) return {Kind::Acked, {}};
  if (!seen.error.empty()) return {Kind::Nacked, seen.error};
  return {seen.warming.empty() ? Kind::Nacked : Kind::Pending, {}};
}

AckStatus endpoints_status(const protocol::Assignment& assignment, const AdminStats& now,
                           const AdminStats& before, const XdsHistory& history) {
  const auto name = stat_name(assignment.cluster);
  const auto seen = now.eds.find(name);
  if (seen == now.eds.end()) return {};
  if (seen->second.version == std::to_string(history.endpoints_version(assignment.file)))
    return {Kind::Acked, {}};
  const auto former = before.eds.find(name);
  const auto rejected_before = former == before.eds.end() ? 0 : former->second.rejected;
  return {seen->second.rejected > rejected_before ? Kind::Nacked : Kind::Pending, {}};
}

/// The worst of several counts: NACK over pending over ACK.
void merge(AckStatus& into, AckStatus other) {
  if (into.kind == Kind::Nacked) return;
  if (other.kind != Kind::Acked) into = std::move(other);
}

/// `version`: the one in which this type's file last changed. A rejected update does not move
/// version_text, so a grown rejection counter also means "processed". If the file did not change in
/// the newest version, there is nothing new to process, and any earlier decision will do.
bool is_processed(const SubscriptionStats& now, const SubscriptionStats& before, XdsVersion version,
                  XdsVersion newest) {
  if (has_reached(now.version, version) || now.rejected > before.rejected) return true;
  return version != newest && now.accepted + now.rejected > 0;
}

/// Escape a name for a regular expression inside a URL query: a backslash (%5C) for the former and
/// percent-encoding for the latter, for every byte but letters and digits.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      out += c;
      continue;
    }
    out += "%5C%";
    base::append_hex(out, c, base::kUpperHex);
  }
  return out;
}

/// Beyond this many, one pattern for all clusters is cheaper for Envoy than their alternation.
constexpr std::size_t kFewClusters = 12;

std::string clusters_pattern(const std::vector<protocol::Unit>& units) {
  std::string out;
  std::size_t count = 0;
  for (const auto& unit : units)
    for (const auto& assignment : unit.assignments) {
      if (++count > kFewClusters) return "%7Ccluster%5C..%2B";
      out += "%7Ccluster%5C." + escaped(stat_name(assignment.cluster));
    }
  return out;
}

}  // namespace

std::string stats_path(const std::vector<protocol::Unit>& units) {
  return "/stats?filter=%5E%28server%5C.state%7C"
         "%28listener_manager%5C.lds%7Ccluster_manager%5C.cds" +
         clusters_pattern(units) +
         "%29%5C.%28version_text%7Cupdate_success%7Cupdate_rejected%7Cupdate_failure%29%7C"
         "listener_manager%5C.total_listeners_warming%7Ccluster_manager%5C.warming_clusters%29%24";
}

AdminStats parse_stats(std::string_view text) {
  AdminStats out;
  while (!text.empty()) {
    const auto newline = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, newline);
    text.remove_prefix(std::min(newline + 1, text.size()));
    // The first ": " ends the name: Envoy replaces colons in names by '_'.
    const auto colon = line.find(": ");
    if (colon != std::string_view::npos)
      read_stat(out, line.substr(0, colon), line.substr(colon + 2));
  }
  return out;
}

std::string stat_name(std::string cluster) {
  std::replace(cluster.begin(), cluster.end(), ':', '_');
  return cluster;
}

bool parse_listeners(std::string_view text, AdminDump& into) {
  return each_config(text, [&](const Json& config) {
    const auto name = text_at(config, {"name"});
    if (name.empty()) return;  // Envoy lists a failed listener twice, once without its name
    into.listeners[name] = {text_at(config, {"active_state", "version_info"}),
                            text_at(config, {"warming_state", "version_info"}),
                            text_at(config, {"error_state", "details"})};
  });
}

bool parse_clusters(std::string_view text, bool warming, AdminDump& into) {
  return each_config(text, [&](const Json& config) {
    auto& seen = into.clusters[text_at(config, {"cluster", "name"})];
    (warming ? seen.warming : seen.active) = text_at(config, {"version_info"});
  });
}

bool is_processed(const AdminStats& now, const AdminStats& before, const XdsHistory& history) {
  const auto newest = history.version();
  return now.live && is_processed(now.lds, before.lds, history.listeners_version(), newest) &&
         is_processed(now.cds, before.cds, history.clusters_version(), newest);
}

bool is_all_active(const AdminStats& now, const XdsHistory& history) {
  return has_reached(now.lds.version, history.listeners_version()) &&
         has_reached(now.cds.version, history.clusters_version()) && now.warming_listeners == 0 &&
         now.warming_clusters == 0;
}

AckStatus unit_status(const protocol::Unit& unit, const AdminStats& now, const AdminStats& before,
                      const AdminDump& dump, const XdsHistory& history) {
  if (!is_processed(now, before, history)) return {};
  AckStatus out{Kind::Acked, {}};
  const bool all_active = is_all_active(now, history);
  for (const auto& listener : unit.listeners) {
    if (all_active) break;
    const auto& seen = look_up(dump.listeners, listener.name);
    merge(out, resource_status(seen, history.is_listener_current(listener.name, seen.active)));
  }
  for (const auto& cluster : unit.clusters) {
    if (all_active) break;
    const auto& seen = look_up(dump.clusters, cluster.name);
    merge(out, resource_status(seen, history.is_cluster_current(cluster.name, seen.active)));
  }
  for (const auto& assignment : unit.assignments)
    merge(out, endpoints_status(assignment, now, before, history));
  return out;
}

}  // namespace kindlb::agent
