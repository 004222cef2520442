#pragma once
// The xDS content of Envoy's files, composed from units, and the history of its versions. Pure: see
// files.hpp for the files themselves. Equal units give equal bytes whatever their order, so that an
// unchanged file is recognized and not written: Envoy would re-read it for nothing.

#include "kindlb/protocol/protocol.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::agent {

/// Written as version_info; counts up from 1 each time the agent writes a file. It starts over when
/// the container does, together with Envoy.
using XdsVersion = std::uint64_t;

/// The complete configuration of Envoy: the resources of all units, by name.
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

/// Add the unit's resources. False if a name is taken by another unit; `conflict` says which one.
/// `snapshot` is then incomplete and must be discarded.
bool add_unit(XdsSnapshot& snapshot, const protocol::Unit& unit, std::string& conflict);

/// Return the address and port that a UDP listener binds, nothing for other listeners. Envoy
/// rejects a listener whose address another one has.
std::optional<core::Target> udp_socket_of(const std::string& listener_body);

/// Return why the unit is invalid by itself, empty if it is not. Bodies are pasted into one file
/// with those of other units, so each must be a complete JSON object that bears its own name:
/// anything else could damage the others' configuration.
std::string invalid_reason(const protocol::Unit& unit);

/// Remembers what each resource was in which version. Envoy keeps a resource's old version_info
/// while its content stays the same, so whether the version it reports as active is the content
/// wanted now can only be answered by looking up what that version contained.
class XdsHistory {
 public:
  /// Record what the files say from version `now` on. REQUIRES: `now` is greater than version().
  void record(const XdsSnapshot& snapshot, XdsVersion now);
  /// Record that lds.json is written again as version `now`, with the content it has.
  void record_renewed_listeners(XdsVersion now) { listeners_version_ = version_ = now; }

  /// Return whether the resource's content in that version, as Envoy reports it, is the same as
  /// now.
  bool is_listener_current(const std::string& name, const std::string& version) const;
  bool is_cluster_current(const std::string& name, const std::string& version) const;
  /// The version in which this endpoint file last changed; 0 if there is none.
  XdsVersion endpoints_version(const std::string& file) const;

  /// The version in which lds.json, or cds.json, last changed.
  XdsVersion listeners_version() const { return listeners_version_; }
  XdsVersion clusters_version() const { return clusters_version_; }

  XdsVersion version() const { return version_; }
  const XdsSnapshot& snapshot() const { return snapshot_; }

 private:
  /// From version `since` on the resource had this body; nothing: it did not exist.
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

/// Return whether the version that Envoy reports is `expected` or a later one.
bool has_reached(const std::string& version, XdsVersion expected);

struct XdsFile {
  std::string name;  ///< "lds.json", "cds.json" or "eds/<file>"
  std::string text;

  bool operator==(const XdsFile&) const = default;
};

/// Return the files that the newest version changes, in the order to put them in place: endpoints
/// before their cluster, clusters before the listeners that use them (make before break). The first
/// version changes all of them, since the bootstrap names files that must exist.
std::vector<XdsFile> changed_files(const XdsHistory& history);
/// Return all files as they have been since they last changed, in the same order.
std::vector<XdsFile> all_files(const XdsHistory& history);

}  // namespace kindlb::agent
