#pragma once
// The agent's files in its volume: whole-file reads, writes that readers see all or nothing of, the
// stored units and the generations Envoy reads. Nothing is synced to disk: what counts is that a
// restarted container finds them, not a power cut.

#include "kindlb/agent/xds.hpp"
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
  std::vector<proxy::Unit> load(std::vector<std::string>& problems) const;
  core::Result<void> save(const proxy::Unit& unit) const;
  void remove(const std::string& unit) const;

  /// The file's name for a unit's: any text becomes a harmless name.
  static std::string file_name(const std::string& unit);

 private:
  std::filesystem::path directory_;
};

/// Folders <n>/ under one directory, and the symlink "current" to the one in force.
class XdsFiles {
 public:
  explicit XdsFiles(std::filesystem::path directory) : directory_(std::move(directory)) {}

  /// The generation a former run ended with; 0 if there is none.
  Generation current() const;
  core::Result<void> write(Generation generation,
                           const std::map<std::string, std::string>& files) const;
  /// Deletes the folders of all generations before `oldest`.
  void prune(Generation oldest) const;

 private:
  std::filesystem::path directory_;
};

}  // namespace kindlb::agent
