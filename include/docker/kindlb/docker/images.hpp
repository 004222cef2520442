#pragma once
// Images of an engine. See engine.hpp for what holds for all calls.

#include "kindlb/core/result.hpp"
#include "kindlb/docker/labels.hpp"

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace kindlb::docker {

/// An image of the engine. Untagged ones have no tags.
struct Image {
  std::string id;
  std::vector<std::string> tags;
};

/// Receives the output of an image pull or build, line by line.
using Progress = std::function<void(std::string_view)>;

/// The images of one engine. Thread-safe; lives as long as its Engine.
class Images {
 public:
  virtual ~Images() = default;

  /// NotFound when the image is not on the engine.
  virtual core::Result<Image> inspect(const std::string& reference) = 0;
  virtual core::Result<std::vector<Image>> list(const std::vector<std::string>& labels) = 0;
  /// Pull without credentials. A reference without tag or digest means "latest".
  virtual core::Result<void> pull(const std::string& reference, const Progress& progress,
                                  std::stop_token stop) = 0;
  /// Build from a tar with a Dockerfile at its root.
  virtual core::Result<void> build(const std::string& tag, const std::string& context_tar,
                                   const Labels& labels, const Progress& progress,
                                   std::stop_token stop) = 0;
  /// Conflict while a container uses it.
  virtual core::Result<void> remove(const std::string& reference) = 0;
};

}  // namespace kindlb::docker
