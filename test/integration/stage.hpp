#pragma once
// Where the real program plays: a real engine with a network of its own, a real API server with a
// namespace of its own, backends of the test on the network's gateway address, and the kindlb
// binary as a child. Everything goes with the stage, also when a check fails half-way.

#include "integration/diary.hpp"
#include "kindlb/proxy/containers.hpp"
#include "support/docker_rig.hpp"
#include "support/servers/child.hpp"
#include "support/servers/kube_server.hpp"
#include "support/traffic/tcp.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace kindlb::it {

/// How long a busy machine may take for what usually needs a second or two.
inline constexpr std::chrono::seconds kPatience{60};

using Flags = std::vector<std::string>;

/// Paths of a kindlb and of the agent that it makes proxies with.
struct Programs {
  std::string kindlb;
  std::string agent;
};
Programs this_build();

enum class Families { V4, Both };

class Stage {
 public:
  /// `api_server`: flags of kube-apiserver. Stages with the same flags share one.
  explicit Stage(Families families = Families::V4, const Flags& api_server = {});
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // ---- kindlb
  /// `kindlb run` for this cluster and network. One warm proxy, unless the flags say otherwise.
  void start(const Flags& flags = {}, const Programs& programs = this_build());
  /// Signals and waits; the exit code, or 128 and the signal.
  int stop(int signal, std::chrono::milliseconds limit = kPatience);
  pid_t pid() const { return kindlb_->pid(); }
  std::string log() const;

  // ---- the cluster
  /// A Service from the JSON of its spec.
  core::Service create(const std::string& name, const std::string& spec);
  /// Of type LoadBalancer with TCP port 80, without a selector.
  core::Service create_web(const std::string& name);
  /// Gives the Service as this very write left it.
  core::Service patch(const std::string& name, const std::string& merge_patch);
  void remove(const std::string& name);
  core::Service get(const std::string& name);
  std::string version_of(const std::string& name) { return get(name).resource_version; }
  /// The ready endpoints behind a Service: port names with numbers, all at one address (the
  /// gateway's by default). No ports: nobody.
  using Ports = std::vector<std::pair<std::string, std::uint16_t>>;
  void put_endpoints(const std::string& service, const Ports& ports,
                     std::optional<core::IpAddress> address = {});
  /// A Ready node whose InternalIP is that address; the gateway's by default.
  void create_node(const std::string& name, std::optional<core::IpAddress> address = {});
  void remove_node(const std::string& name);
  void exclude_node(const std::string& name, bool excluded);
  /// Reasons of kindlb's Events about a Service.
  std::set<std::string> event_reasons(const std::string& service);
  /// Waits until there are Events with all of these reasons.
  void await_events(const std::string& service, const std::set<std::string>& reasons);

  /// Waits for a version that fulfils the wish, from page `from` of the diary on.
  core::Service await(const std::string& name, const Wish& wish, std::size_t from = 0);
  core::Service await_serving(const std::string& name, std::size_t from = 0) {
    return await(name, is_serving, from);
  }
  /// Fails the test with `what` and kindlb's log when it does not come true in time.
  void until(const std::string& what, const std::function<bool()>& holds,
             std::chrono::milliseconds limit = kPatience);
  /// Serves one more Service: whatever kindlb had to do before is done, or under way, by then.
  void serve_another();

  // ---- the engine
  const core::IpAddress& gateway() const { return gateway_; }
  const docker::Subnet& subnet(core::IpFamily family) const;
  /// This machine's end of the network.
  std::string bridge() const { return "br-" + network_.id.substr(0, 12); }
  /// An address of the network that nobody has.
  core::IpAddress unused_address() const;
  std::vector<proxy::Proxy> proxies();
  std::optional<proxy::Proxy> proxy_of(const core::Service& service);
  /// Proxies that serve somebody, by container id, with the Services they serve
  /// ("cluster/ns/name").
  std::map<std::string, std::set<std::string>> holders();
  bool volume_exists(const std::string& name);
  /// Kills Envoy inside the proxy, as a crash would.
  void kill_envoy(const proxy::Proxy& proxy);

  Diary& diary() { return *diary_; }
  const std::string& ns() const { return ns_; }
  const test::Rest& rest() const { return rest_; }
  const std::string& network() const { return network_.name; }

  testing::DockerRig rig;

 private:
  std::string services(const std::string& name = "") const;
  void clear_cluster();
  /// Images that kindlb builds go with the binary, unless they were there before.
  void note_images();

  const test::KubeServer& api_server_;
  const std::string tag_;
  const std::string ns_;
  docker::Network network_;
  core::IpAddress gateway_;
  std::filesystem::path folder_;
  test::Rest rest_;
  std::unique_ptr<Diary> diary_;
  std::vector<std::string> nodes_;
  int starts_ = 0;
  int others_ = 0;
  std::unique_ptr<test::Child> kindlb_;
};

/// Where a served Service answers.
core::Target target_of(const core::Service& service, std::uint16_t port = 80);
/// At its address of that family.
core::Target target_of(const core::Service& service, std::uint16_t port, core::IpFamily family);

}  // namespace kindlb::it
