#pragma once
// Files inside containers, running or not. See engine.hpp for what holds for all calls.

#include "kindlb/core/result.hpp"

#include <string>

namespace kindlb::docker {

/// Thread-safe; lives as long as its Engine.
class ContainerFiles {
 public:
  virtual ~ContainerFiles() = default;

  /// Return the content of one regular file. At most 16 MiB.
  virtual core::Result<std::string> read_file(const std::string& id, const std::string& path) = 0;
  /// Return the target of a symbolic link, resolved inside the container; the target need not
  /// exist. Costs the engine a small fraction of reading a file (one stat, no archive). Invalid:
  /// the path is not a link.
  virtual core::Result<std::string> read_link(const std::string& id, const std::string& path) = 0;
  /// Unpack an uncompressed tar (docker/tar.hpp) under `path`, which must exist.
  virtual core::Result<void> put_archive(const std::string& id, const std::string& path,
                                         const std::string& tar) = 0;
};

}  // namespace kindlb::docker
