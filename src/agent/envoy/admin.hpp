#pragma once
// What Envoy's admin interface reports about its configuration, and whether that means ACK or NACK
// for a unit. Pure: see admin_client.hpp for the socket, ack_poller.hpp for the sequence.
//
// Facts about Envoy 1.40 this rests on (recorded in test/agent/fixtures):
// - A resource keeps the version_info it was first accepted with while its content stays the same.
//   "Active with an old version" may therefore be current; XdsHistory knows.
// - LDS and CDS updates are applied in part: good resources go live although the update counts as
//   update_rejected, and the subscription's version_text stays old. A field Envoy does not know
//   (--reject-unknown-dynamic-fields) rejects the whole file instead.
// - update_failure counts files that cannot be parsed, update_rejected content that is refused.
// - A failed listener, also one that cannot bind, has error_state.details in the config dump.
//   Clusters and endpoints have no such field; their errors are only logged (see envoy_log.hpp).
// - The config dump has no version for endpoints; the statistic cluster.NAME.version_text has.
// - A new or changed listener or cluster is "warming" until what it depends on is ready; until then
//   its predecessor serves.

#include "envoy/xds.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace kindlb::agent {

/// Statistics of one xDS subscription. The counters only grow while Envoy runs.
struct SubscriptionStats {
  std::string version;         ///< version_text: of the last update that was accepted whole
  std::uint64_t accepted = 0;  ///< update_success
  std::uint64_t rejected = 0;  ///< update_rejected + update_failure

  bool operator==(const SubscriptionStats&) const = default;
};

struct AdminStats {
  bool live = false;  ///< server.state is LIVE: Envoy has finished its initialization
  SubscriptionStats lds;
  SubscriptionStats cds;
  std::uint64_t warming_listeners = 0;
  std::uint64_t warming_clusters = 0;
  std::map<std::string, SubscriptionStats> eds;  ///< by stat_name of the cluster
};

/// Return the request for exactly what parse_stats reads; of clusters only those of the units,
/// unless they are many: with hundreds of Services the full list would dominate the cost of an
/// update.
std::string stats_path(const std::vector<protocol::Unit>& units);
inline constexpr const char* kListenersPath =
    "/config_dump?resource=dynamic_listeners&mask=name,active_state.version_info,"
    "warming_state.version_info,error_state.details";
inline constexpr const char* kActiveClustersPath =
    "/config_dump?resource=dynamic_active_clusters&mask=version_info,cluster.name";
inline constexpr const char* kWarmingClustersPath =
    "/config_dump?resource=dynamic_warming_clusters&mask=version_info,cluster.name";

/// Parse the text form, "name: value" per line. Unknown names are ignored.
AdminStats parse_stats(std::string_view text);
/// Return a cluster's name as statistics spell it: ':' becomes '_'.
std::string stat_name(std::string cluster);

/// One resource in the config dump. Versions are empty where there is no such state.
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
/// Add what a dump says to `into`. False if the text is not a config dump.
bool parse_listeners(std::string_view text, AdminDump& into);
bool parse_clusters(std::string_view text, bool warming, AdminDump& into);

/// Envoy's decision about a unit, a listener, a cluster or its endpoints.
struct AckStatus {
  enum class Kind { Pending, Acked, Nacked };
  Kind kind = Kind::Pending;
  std::string text;  ///< Envoy's error message, where the dump has one

  bool operator==(const AckStatus&) const = default;
};

using AckStatuses = std::map<std::string, AckStatus>;  ///< by unit

/// Return whether Envoy has processed the newest version of LDS and CDS, accepting or rejecting it.
/// `before`: the statistics when it was written, or default ones if Envoy has started since.
bool is_processed(const AdminStats& now, const AdminStats& before, const XdsHistory& history);
/// Return whether everything in the newest version was accepted and is active: no dump is needed.
bool is_all_active(const AdminStats& now, const XdsHistory& history);

/// Return whether Envoy runs the unit's listeners, clusters and endpoints as `history` has them
/// now. One NACK makes the unit NACKed; otherwise one pending resource makes it pending.
AckStatus unit_status(const protocol::Unit& unit, const AdminStats& now, const AdminStats& before,
                      const AdminDump& dump, const XdsHistory& history);

}  // namespace kindlb::agent
