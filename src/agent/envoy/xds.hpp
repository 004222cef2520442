#pragma once
// What Envoy's files shall hold, composed from the units, and the memory of which version held
// what. Pure: no files here (see files.hpp). Equal units give equal bytes, in any order.

#include "kindlb/protocol/protocol.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::agent {

using XdsVersion = std::uint64_t;

/// Resources of all units together, by name: what Envoy is told.
struct XdsSnapshot {
  struct Endpoints {
    std::string cluster;
    std::string body;
    bool operator==(const Endpoints&) const = default;
  };
  std::map<std::string, std::string> listeners;
  std::map<std::string, std::string> clusters;
  std::map<std::string, Endpoints> endpoints;  ///< by file name

  bool operator==(const XdsSnapshot&) const = default;
};

/// Adds the unit's resources. False if one of the names belongs to another unit; `conflict` names
/// it.
bool add_unit(XdsSnapshot& snapshot, const protocol::Unit& unit, std::string& conflict);

/// Where a listener for UDP binds: Envoy refuses one whose place another has. None: not for UDP.
std::optional<core::Target> udp_socket_of(const std::string& listener_body);

/// Why the unit cannot be handed to Envoy, whatever else is there; empty if it can. Bodies must be
/// JSON objects, since they become part of one file with those of other units.
std::string invalid_reason(const protocol::Unit& unit);

/// Remembers for every resource what it was since when. Envoy keeps a resource's old version while
/// its snapshot stays the same, so "is the active version the wanted snapshot?" needs this memory.
class XdsHistory {
 public:
  /// The snapshot from generation `now` on.
  void record(const XdsSnapshot& snapshot, XdsVersion now);

  bool is_listener_current(const std::string& name, const std::string& version) const;
  bool is_cluster_current(const std::string& name, const std::string& version) const;
  /// The generation in which this endpoint file last changed.
  XdsVersion endpoints_version(const std::string& file) const;

  /// The generation in which the listeners, or the clusters, last changed.
  XdsVersion listeners_version() const { return listeners_version_; }
  XdsVersion clusters_version() const { return clusters_version_; }

  XdsVersion version() const { return version_; }
  const XdsSnapshot& snapshot() const { return snapshot_; }

 private:
  /// Since generation `since` the body was this; nothing: there was none.
  struct Span {
    XdsVersion since = 0;
    std::optional<std::string> body;
  };
  using Spans = std::map<std::string, std::vector<Span>>;

  static void extend(Spans& spans, const std::map<std::string, std::string>& bodies,
                     XdsVersion now);
  static bool is_current(const Spans& spans, const std::string& name, const std::string& version);

  XdsVersion version_ = 0;
  XdsVersion listeners_version_ = 0;
  XdsVersion clusters_version_ = 0;
  XdsSnapshot snapshot_;
  Spans listeners_;
  Spans clusters_;
  std::map<std::string, XdsVersion> endpoints_;
};

/// True if the version, as Envoy tells it, is of that generation or a later one.
bool has_reached(const std::string& version, XdsVersion generation);

struct XdsFile {
  std::string name;  ///< "lds.json", "cds.json" or "eds/<file>"
  std::string text;

  bool operator==(const XdsFile&) const = default;
};

/// What the newest generation changes, in the order it is to be put in place: a cluster's endpoints
/// before the cluster, and that before its listener. The first generation changes everything.
std::vector<XdsFile> changed_files(const XdsHistory& history);

}  // namespace kindlb::agent
