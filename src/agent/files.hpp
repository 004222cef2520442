#pragma once
// The agent's files in its volume: whole-file reads, writes that readers see all or nothing of, the
// stored units and the generations Envoy reads. Nothing is synced to disk: what counts is that a
// restarted container finds them, not a power cut.

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

core::Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit);
/// By a temporary file and a rename.
core::Result<void> replace_file(const std::filesystem::path& path, std::string_view text,
                                mode_t mode);

/// A symbolic link with that target, seen by readers at once; no target: no link.
core::Result<void> replace_link(const std::filesystem::path& path,
                                const std::optional<std::string>& target);

/// Units by name, one file each.
class UnitStore {
 public:
  explicit UnitStore(std::filesystem::path directory) : directory_(std::move(directory)) {}

  /// Unreadable files are skipped; `problems` gets a line for each.
  std::vector<protocol::Unit> load(std::vector<std::string>& problems) const;
  core::Result<void> save(const protocol::Unit& unit) const;
  void remove(const std::string& unit) const;

  /// The file's name for a unit's: any text becomes a harmless name.
  static std::string file_name(const std::string& unit);

 private:
  std::filesystem::path directory_;
};

/// The files Envoy watches, each by its name. What is written comes from a folder nobody watches,
/// by a rename: that, and nothing else, makes Envoy read the file again.
class XdsFiles {
 public:
  explicit XdsFiles(std::filesystem::path directory) : directory_(std::move(directory)) {}

  /// Starts without the files of a former run.
  core::Result<void> reset() const;
  /// All of them, in this order; if one cannot be written, none is put in place.
  core::Result<void> write(const std::vector<XdsFile>& files) const;
  /// Deletes endpoint files that `wanted` does not name any more.
  void prune(const XdsSnapshot& wanted) const;

 private:
  std::filesystem::path directory_;
};

}  // namespace kindlb::agent
