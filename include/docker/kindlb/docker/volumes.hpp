#pragma once
// Volumes of an engine. See engine.hpp for what holds for all calls.

#include "kindlb/core/result.hpp"
#include "kindlb/docker/labels.hpp"

#include <string>
#include <vector>

namespace kindlb::docker {

/// A named volume of the local driver.
struct Volume {
  std::string name;
  Labels labels;
};

/// The volumes of one engine. Thread-safe; lives as long as its Engine.
class Volumes {
 public:
  virtual ~Volumes() = default;

  /// Create a volume and return its name; success if it exists already (the engine's semantics).
  virtual core::Result<std::string> create(const Volume& volume) = 0;
  virtual core::Result<std::vector<Volume>> list(const std::vector<std::string>& labels) = 0;
  /// Conflict while a container, running or not, mounts it.
  virtual core::Result<void> remove(const std::string& name) = 0;
};

}  // namespace kindlb::docker
