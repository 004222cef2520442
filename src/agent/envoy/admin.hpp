#pragma once
// What Envoy's admin interface says about its configuration, and what it means for a unit. Pure:
// see admin_client.hpp for the socket. Facts about Envoy 1.40 this rests on:
// - a resource keeps its old version while its snapshot stays the same (hence XdsHistory);
// - LDS and CDS are applied in part: good resources go live although the update counts as rejected,
//   and version_text stays old; a field Envoy does not know refuses the whole file instead;
// - listeners carry error_state.details in the dump, clusters and endpoints only log theirs;
// - the dump has no version for endpoints; the cluster's version_text stat has.

#include "envoy/xds.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace kindlb::agent {

/// Counters of one subscription.
struct SubscriptionStats {
  std::string version;
  std::uint64_t accepted = 0;
  std::uint64_t rejected = 0;  ///< update_rejected + update_failure

  bool operator==(const SubscriptionStats&) const = default;
};

struct AdminStats {
  bool live = false;
  SubscriptionStats lds;
  SubscriptionStats cds;
  std::uint64_t warming_listeners = 0;
  std::uint64_t warming_clusters = 0;
  std::map<std::string, SubscriptionStats> eds;  ///< by the cluster's name as stats spell it
};

/// Asks for exactly what parse_stats reads; of clusters, only for those of the units, unless they
/// are many.
std::string stats_path(const std::vector<protocol::Unit>& units);
inline constexpr const char* kListenersPath =
    "/config_dump?resource=dynamic_listeners&mask=name,active_state.version_info,"
    "warming_state.version_info,error_state.details";
inline constexpr const char* kActiveClustersPath =
    "/config_dump?resource=dynamic_active_clusters&mask=version_info,cluster.name";
inline constexpr const char* kWarmingClustersPath =
    "/config_dump?resource=dynamic_warming_clusters&mask=version_info,cluster.name";

AdminStats parse_stats(std::string_view text);
/// How a cluster's name appears in stats.
std::string stat_name(std::string cluster);

/// What the config dump says of one resource; versions are empty where there is none.
struct DumpedResource {
  std::string active;
  std::string warming;
  std::string error;

  bool operator==(const DumpedResource&) const = default;
};
struct AdminDump {
  std::map<std::string, DumpedResource> listeners;
  std::map<std::string, DumpedResource> clusters;
};
/// False if the text is no such dump.
bool parse_listeners(std::string_view text, AdminDump& into);
bool parse_clusters(std::string_view text, bool warming, AdminDump& into);

struct AckStatus {
  enum class Kind { Pending, Acked, Nacked };
  Kind kind = Kind::Pending;
  std::string text;  ///< Envoy's own words, where the dump has them

  bool operator==(const AckStatus&) const = default;
};

/// True once Envoy has dealt with the newest generation, one way or the other. `before`: the stats
/// when it was written, or default ones if Envoy started since.
bool is_processed(const AdminStats& now, const AdminStats& before, const XdsHistory& history);
/// True if everything of the newest generation was accepted and is active: no dump is needed then.
bool is_all_active(const AdminStats& now, const XdsHistory& history);

/// Whether Envoy has taken the unit's listeners, clusters and endpoints as they are in `history`.
AckStatus unit_status(const protocol::Unit& unit, const AdminStats& now, const AdminStats& before,
                      const AdminDump& dump, const XdsHistory& history);

}  // namespace kindlb::agent
