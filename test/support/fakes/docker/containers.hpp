#pragma once
// The containers of a FakeEngine: states and names, addresses from its networks, events. Their
// files and processes are what a test says. Thread-safe; hooks run without a lock.

#include "kindlb/docker/container_files.hpp"
#include "kindlb/docker/containers.hpp"
#include "kindlb/docker/execs.hpp"
#include "support/fakes/docker/images.hpp"
#include "support/fakes/docker/networks.hpp"

#include <functional>
#include <map>
#include <mutex>
#include <optional>

namespace kindlb::testing {

class FakeContainers final : public docker::Containers {
 public:
  FakeContainers(FakeCalls& calls, FakeSystem& system, FakeNetworks& networks, FakeImages& images)
      : calls_(calls), system_(system), networks_(networks), images_(images) {}

  // What a test and other programs do; not journalled.
  /// Add a running container of another program (a kind node, for example). Return its id.
  std::string add(const docker::ContainerSpec& spec);
  void die(const std::string& id_or_name);     ///< the container's process ends
  void vanish(const std::string& id_or_name);  ///< docker rm -f
  void pause(const std::string& id_or_name);
  void unpause(const std::string& id_or_name);
  void disconnect(const std::string& id_or_name);  ///< from its network
  /// What `ps` shows as the state of its first process; "Ss" unless told.
  void set_process_state(const std::string& id_or_name, const std::string& state);
  std::optional<docker::Container> find(const std::string& id_or_name) const;
  bool any_mounts(const std::string& volume) const;
  /// How the journal calls it: by its name, whatever the caller used.
  std::string name_of(const std::string& id_or_name) const;

  core::Result<std::vector<docker::Container>> list(
      const std::vector<std::string>& labels) override;
  core::Result<docker::Container> inspect(const std::string& id) override;
  core::Result<std::vector<docker::Process>> processes(const std::string& id) override;
  core::Result<std::string> create(const docker::ContainerSpec& spec) override;
  core::Result<void> start(const std::string& id) override;
  core::Result<void> stop(const std::string& id, std::chrono::seconds grace) override;
  core::Result<void> kill(const std::string& id, const std::string& signal) override;
  core::Result<void> rename(const std::string& id, const std::string& name) override;
  core::Result<void> remove(const std::string& id) override;

 private:
  struct Entry {
    docker::Container seen;
    docker::ContainerSpec spec;
    std::string process_state = "Ss";
  };

  std::optional<core::Error> enter(const std::string& operation, const std::string& id);
  // The lock is held.
  std::string id_of(const std::string& id_or_name) const;  ///< empty: no such container
  std::string insert(const docker::ContainerSpec& spec);
  void run(Entry& entry);
  void end(Entry& entry);
  void erase(const std::string& id);
  void publish(const docker::Container& container, const std::string& action);

  FakeCalls& calls_;
  FakeSystem& system_;
  FakeNetworks& networks_;
  FakeImages& images_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> containers_;  ///< by id
};

/// No container of this world has links in it.
class FakeContainerFiles final : public docker::ContainerFiles {
 public:
  FakeContainerFiles(FakeCalls& calls, const FakeContainers& containers)
      : calls_(calls), containers_(containers) {}

  /// Setting up; not journalled.
  void set(const std::string& id_or_name, const std::string& path, const std::string& content);

  core::Result<std::string> read_file(const std::string& id, const std::string& path) override;
  core::Result<std::string> read_link(const std::string& id, const std::string& path) override;
  /// The tar is kept packed: tests that care unpack it with docker::read_tar.
  core::Result<void> put_archive(const std::string& id, const std::string& path,
                                 const std::string& tar) override;

 private:
  FakeCalls& calls_;
  const FakeContainers& containers_;
  std::mutex mutex_;
  std::map<std::string, std::map<std::string, std::string>> files_;  ///< by id, by path
};

class FakeExecs final : public docker::Execs {
 public:
  using Strings = std::vector<std::string>;
  using Hook = std::function<core::Result<docker::ExecStream>(const docker::Container&,
                                                              const Strings& command)>;

  FakeExecs(FakeCalls& calls, const FakeContainers& containers)
      : calls_(calls), containers_(containers) {}

  /// What start() gives; without a hook, it fails with Unavailable.
  void on_start(Hook hook);

  core::Result<docker::ExecStream> start(const std::string& id, const Strings& command,
                                         const std::string& user) override;

 private:
  FakeCalls& calls_;
  const FakeContainers& containers_;
  std::mutex mutex_;
  Hook hook_;
};

}  // namespace kindlb::testing
