#pragma once
// The agent's files in its volume: the stored units, and the xDS files that Envoy watches. Every
// write is a temporary file and a rename, so that a reader sees the old content or the new one.
// Nothing is synced to disk: the files must survive a restart of the container, not a power cut,
// after which kindlb applies every unit again. Blocking, on the loop's thread; the files are small
// and local.

#include "envoy/xds.hpp"
#include "kindlb/core/result.hpp"

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kindlb::agent {

/// Describe an errno for users: a full volume is for them to empty.
std::string describe_file_error(int number);

/// Read a whole file, TooLarge beyond `limit` bytes. Works for /proc, whose files report no size.
core::Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit);
/// Replace or create a file. `mode` holds whatever the umask.
core::Result<void> replace_file(const std::filesystem::path& path, std::string_view text,
                                mode_t mode);

/// Replace or create a symbolic link, atomically. Without a target the link is removed, and so it
/// is when the new one cannot be created.
core::Result<void> replace_link(const std::filesystem::path& path,
                                const std::optional<std::string>& target);

/// Committed units, one file each: what a restarted container serves before kindlb has connected,
/// or while it is not running at all. Stored in the protocol's own form, so an agent can read what
/// an older or newer one has written.
class UnitStore {
 public:
  explicit UnitStore(std::filesystem::path directory) : directory_(std::move(directory)) {}

  /// Read every stored unit. Files that are unreadable or invalid are skipped; `problems` gets a
  /// line for each.
  std::vector<protocol::Unit> load(std::vector<std::string>& problems) const;
  core::Result<void> save(const protocol::Unit& unit) const;
  void remove(const std::string& unit) const;

  /// Return the name of a unit's file: bytes other than a-z, 0-9 and '-' are written as "_xx", so
  /// no unit name can lead out of the directory or collide with another.
  static std::string file_name(const std::string& unit);

 private:
  std::filesystem::path directory_;
};

/// The files Envoy watches. Envoy reacts only to a rename into place (inotify's IN_MOVED_TO), never
/// to a write, so files are written to a directory it does not watch and moved from there.
class XdsFiles {
 public:
  explicit XdsFiles(std::filesystem::path directory) : directory_(std::move(directory)) {}

  /// Create the directories. What a former run has left in them stays: if the new files cannot be
  /// written, Envoy starts with those.
  core::Result<void> prepare() const;
  /// Put the files in place, in this order. All are written before the first is moved, so that a
  /// full disk leaves Envoy's configuration as it was.
  core::Result<void> write(const std::vector<XdsFile>& files) const;
  /// Write those of the files that are missing or have another content.
  core::Result<void> repair(const std::vector<XdsFile>& files) const;
  /// Delete endpoint files that `wanted` does not name. Call it only after Envoy has dropped the
  /// clusters that watched them.
  void prune(const XdsSnapshot& wanted) const;

 private:
  std::filesystem::path directory_;
};

}  // namespace kindlb::agent
