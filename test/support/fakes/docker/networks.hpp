#pragma once
// The networks of a FakeEngine: they hand out addresses, the lowest free one first, as the engine's
// own allocator does. Thread-safe.

#include "kindlb/docker/containers.hpp"
#include "kindlb/docker/networks.hpp"
#include "support/fakes/docker/system.hpp"

#include <map>
#include <mutex>
#include <optional>

namespace kindlb::testing {

class FakeNetworks final : public docker::Networks {
 public:
  FakeNetworks(FakeCalls& calls, FakeSystem& system) : calls_(calls), system_(system) {}

  /// Setting up; not journalled. Returns the id.
  std::string add(const docker::NetworkSpec& spec);

  // For the containers.
  bool exists(const std::string& name_or_id) const;
  /// Nothing when there is no such network.
  std::optional<docker::Attachment> attach(const std::string& network,
                                           const docker::Container& container);
  void detach(const docker::Container& container);

  core::Result<std::vector<docker::Network>> list(const std::vector<std::string>& labels) override;
  core::Result<docker::Network> inspect(const std::string& name_or_id) override;
  core::Result<std::string> create(const docker::NetworkSpec& spec) override;
  core::Result<void> remove(const std::string& name_or_id) override;

 private:
  using Entries = std::map<std::string, docker::Network>;
  Entries::const_iterator find(const std::string& name_or_id) const;
  std::string insert(const docker::NetworkSpec& spec);

  FakeCalls& calls_;
  FakeSystem& system_;
  mutable std::mutex mutex_;
  Entries networks_;  ///< by id; members are containers that run
};

}  // namespace kindlb::testing
