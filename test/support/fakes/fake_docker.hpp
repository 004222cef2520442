#pragma once
// An engine in memory: containers, networks that hand out addresses, images, volumes, events, a
// journal of the calls made and faults on demand. A small world with state rather than a list of
// expected calls. Thread-safe, as the real one; hooks run without the lock and may call back.

#include "kindlb/docker/engine.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kindlb::testing {

class FakeEngine final : public docker::Engine {
 public:
  using Strings = std::vector<std::string>;
  using ExecHook = std::function<core::Result<docker::ExecStream>(const docker::Container&,
                                                                  const Strings& command)>;
  using CallHook = std::function<void(const std::string& operation, const std::string& subject)>;

  // Setting up; none of this is journalled.
  void add_image(const std::string& reference);
  std::string add_network(const docker::NetworkSpec& spec);
  /// Add a running container of another program (a kind node, for example). Return its id.
  std::string add_container(const docker::ContainerSpec& spec);
  void set_file(const std::string& id_or_name, const std::string& path, const std::string& content);
  /// What exec gives; without a hook, exec fails with Unavailable.
  void on_exec(ExecHook hook);
  /// Called on the caller's thread before each journalled call: to block, to count, to interfere.
  void on_call(CallHook hook);
  /// The next `times` calls of that operation ("create_container") fail, after those scripted
  /// before.
  void fail_next(const std::string& operation, core::Error error, int times = 1);
  /// pull_image succeeds for this reference.
  void add_to_registry(const std::string& reference);

  // What other programs do: publishes events, is not journalled.
  void die(const std::string& id_or_name);     ///< the container's process ends
  void vanish(const std::string& id_or_name);  ///< docker rm -f
  void emit(docker::Event event);
  /// Every subscriber's stream breaks with Unavailable.
  void break_events();

  // Looking.
  Strings journal() const;  ///< "create_container kindlb-warm-0a1b2c3d", in order
  void clear_journal();
  std::size_t count(const std::string& operation) const;  ///< in the journal
  std::optional<docker::ContainerSpec> spec_of(const std::string& id_or_name) const;
  std::optional<docker::Container> container(const std::string& id_or_name) const;
  /// The tar given to the last build_image of that tag.
  std::optional<std::string> build_context(const std::string& tag) const;
  std::size_t subscribers() const;

  core::Result<docker::EngineInfo> info() override;
  core::Result<std::vector<docker::Container>> list_containers(const Strings& labels) override;
  core::Result<docker::Container> inspect_container(const std::string& id) override;
  core::Result<std::string> create_container(const docker::ContainerSpec& spec) override;
  core::Result<void> start_container(const std::string& id) override;
  core::Result<void> stop_container(const std::string& id, std::chrono::seconds grace) override;
  core::Result<void> kill_container(const std::string& id, const std::string& signal) override;
  core::Result<void> rename_container(const std::string& id, const std::string& name) override;
  core::Result<void> remove_container(const std::string& id) override;
  core::Result<std::string> read_file(const std::string& id, const std::string& path) override;
  core::Result<std::string> read_link(const std::string& id, const std::string& path) override;
  core::Result<void> put_archive(const std::string& id, const std::string& path,
                                 const std::string& tar) override;
  core::Result<docker::ExecStream> exec(const std::string& id, const Strings& command,
                                        const std::string& user) override;
  core::Result<std::vector<docker::Network>> list_networks(const Strings& labels) override;
  core::Result<docker::Network> inspect_network(const std::string& name_or_id) override;
  core::Result<std::string> create_network(const docker::NetworkSpec& spec) override;
  core::Result<void> remove_network(const std::string& name_or_id) override;
  core::Result<docker::Image> inspect_image(const std::string& reference) override;
  core::Result<std::vector<docker::Image>> list_images(const Strings& labels) override;
  core::Result<void> pull_image(const std::string& reference, const docker::Progress& progress,
                                std::stop_token stop) override;
  core::Result<void> build_image(const std::string& tag, const std::string& context_tar,
                                 const docker::Labels& labels, const docker::Progress& progress,
                                 std::stop_token stop) override;
  core::Result<void> remove_image(const std::string& reference) override;
  core::Result<std::string> create_volume(const docker::Volume& volume) override;
  core::Result<std::vector<docker::Volume>> list_volumes(const Strings& labels) override;
  core::Result<void> remove_volume(const std::string& name) override;
  core::Result<void> events(const std::function<void()>& on_open,
                            const std::function<void(const docker::Event&)>& on_event,
                            std::stop_token stop) override;

 private:
  struct Box {
    docker::Container seen;
    docker::ContainerSpec spec;
    std::map<std::string, std::string> files;
  };
  struct Picture {
    docker::Image image;
    docker::Labels labels;
    std::string context;
  };
  struct Subscriber {
    std::deque<docker::Event> queue;
    bool broken = false;
  };

  /// Journals the call and gives the fault scripted for it, if any.
  std::optional<core::Error> enter(const std::string& operation, const std::string& subject);
  std::string new_id();
  Box* find(const std::string& id_or_name);
  const Box* find(const std::string& id_or_name) const;
  docker::Network* find_network(const std::string& name_or_id);
  std::string insert_network(const docker::NetworkSpec& spec);
  std::string insert_container(const docker::ContainerSpec& spec);
  void start(Box& box);
  void stop(Box& box);
  void erase(const std::string& id);
  void attach(Box& box);
  void detach(Box& box);
  bool is_taken(const docker::Network& network, const core::IpAddress& address) const;
  std::optional<core::IpAddress> free_address(const docker::Network& network,
                                              core::IpFamily family) const;
  bool volume_in_use(const std::string& name) const;
  void publish(docker::Event event);
  void publish(const Box& box, const std::string& action);

  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::map<std::string, Box> containers_;            ///< by id
  std::map<std::string, docker::Network> networks_;  ///< by id; members filled while running
  std::map<std::string, Picture> images_;            ///< by reference
  std::map<std::string, docker::Volume> volumes_;
  std::set<std::string> registry_;
  std::map<std::string, std::deque<core::Error>> faults_;
  std::list<Subscriber> subscribers_;
  Strings journal_;
  ExecHook exec_hook_;
  CallHook call_hook_;
  std::uint64_t ids_ = 0;
  std::int64_t clock_ = 0;
};

}  // namespace kindlb::testing
