#pragma once
// The images of a FakeEngine, and a registry to pull from. Thread-safe.

#include "kindlb/docker/images.hpp"
#include "support/fakes/docker/calls.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <set>

namespace kindlb::testing {

class FakeImages final : public docker::Images {
 public:
  explicit FakeImages(FakeCalls& calls) : calls_(calls) {}

  // Setting up and looking; not journalled.
  void add(const std::string& reference);
  /// A pull of this reference succeeds.
  void add_to_registry(const std::string& reference);
  std::optional<docker::Image> find(const std::string& reference) const;
  /// The tar given to the last build of that tag.
  std::optional<std::string> build_context(const std::string& tag) const;

  core::Result<docker::Image> inspect(const std::string& reference) override;
  core::Result<std::vector<docker::Image>> list(const std::vector<std::string>& labels) override;
  core::Result<void> pull(const std::string& reference, const docker::Progress& progress,
                          std::stop_token stop) override;
  core::Result<void> build(const std::string& tag, const std::string& context_tar,
                           const docker::Labels& labels, const docker::Progress& progress,
                           std::stop_token stop) override;
  core::Result<void> remove(const std::string& reference) override;

 private:
  struct Entry {
    docker::Image image;
    docker::Labels labels;
    std::string context;
  };

  FakeCalls& calls_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> images_;  ///< by reference
  std::set<std::string> registry_;
};

}  // namespace kindlb::testing
