#pragma once
// The volumes of a FakeEngine. Thread-safe.

#include "kindlb/docker/volumes.hpp"
#include "support/fakes/docker/containers.hpp"

#include <map>
#include <mutex>

namespace kindlb::testing {

class FakeVolumes final : public docker::Volumes {
 public:
  FakeVolumes(FakeCalls& calls, const FakeContainers& containers)
      : calls_(calls), containers_(containers) {}

  core::Result<std::string> create(const docker::Volume& volume) override;
  core::Result<std::vector<docker::Volume>> list(const std::vector<std::string>& labels) override;
  core::Result<void> remove(const std::string& name) override;

 private:
  FakeCalls& calls_;
  const FakeContainers& containers_;
  std::mutex mutex_;
  std::map<std::string, docker::Volume> volumes_;
};

}  // namespace kindlb::testing
