#pragma once
// An engine in memory: containers, networks that hand out addresses, images, volumes, events, a
// journal of the calls made and faults on demand. A small world with state rather than a list of
// expected calls. Each part of the Engine is a fake of its own (fakes/docker/), which has what a
// test may do beside the calls. Thread-safe, as the real one; hooks may call back.

#include "kindlb/docker/engine.hpp"
#include "support/fakes/docker/calls.hpp"
#include "support/fakes/docker/containers.hpp"
#include "support/fakes/docker/images.hpp"
#include "support/fakes/docker/networks.hpp"
#include "support/fakes/docker/system.hpp"
#include "support/fakes/docker/volumes.hpp"

namespace kindlb::testing {

class FakeEngine final : public docker::Engine {
 public:
  using Strings = FakeCalls::Strings;

  FakeEngine() = default;
  // Its parts refer to each other.
  FakeEngine(const FakeEngine&) = delete;
  FakeEngine& operator=(const FakeEngine&) = delete;

  FakeCalls& calls() { return calls_; }

  FakeContainers& containers() override { return containers_; }
  FakeContainerFiles& files() override { return files_; }
  FakeExecs& execs() override { return execs_; }
  FakeNetworks& networks() override { return networks_; }
  FakeImages& images() override { return images_; }
  FakeVolumes& volumes() override { return volumes_; }
  FakeSystem& system() override { return system_; }

 private:
  FakeCalls calls_;
  FakeSystem system_{calls_};
  FakeNetworks networks_{calls_, system_};
  FakeImages images_{calls_};
  FakeContainers containers_{calls_, system_, networks_, images_};
  FakeContainerFiles files_{calls_, containers_};
  FakeExecs execs_{calls_, containers_};
  FakeVolumes volumes_{calls_, containers_};
};

}  // namespace kindlb::testing
