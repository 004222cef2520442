#pragma once
// Wires everything together: the engine's events, the kind clusters found by them, the fleet of
// proxies and the reconciler, on one loop. Decides nothing about Services.
//
// Threads: run() is the loop's thread. One more thread follows the engine's events, each cluster
// has its watches, and two pools run engine calls and API writes; all of them only post to the
// loop. Two pools, because an engine that hangs must not keep statuses from being written.
// Lifetime: run() blocks until stopped and leaves the proxies serving (docs/contract.md §5). Engine
// and host must outlive the controller.

#include "cluster_feed.hpp"
#include "fleet/fleet.hpp"
#include "fleet/proxy_host.hpp"
#include "kindlb/base/clock.hpp"
#include "kindlb/base/thread_pool.hpp"
#include "kindlb/controller/kind_clusters.hpp"
#include "kindlb/controller/provider.hpp"
#include "kindlb/docker/engine.hpp"
#include "loop.hpp"
#include "networks.hpp"
#include "reconciler/reconciler.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

namespace kindlb::controller {

/// What the provider was asked to do; see ProviderSettings.
struct Options {
  core::Policy policy;
  FleetOptions fleet;
  std::optional<GivenCluster> only;  ///< absent: every kind cluster of the engine
  bool delete_on_exit = false;
  std::function<void()> on_started_up;  ///< called once, when the work of starting up is over
};

class Controller {
 public:
  Controller(docker::Engine& engine, ProxyHost& host, Options options,
             const base::Clock& clock = base::machine_clock());
  ~Controller();

  /// Serve until `stop`. With delete_on_exit, release every Service then, for a limited time.
  void run(std::stop_token stop);

 private:
  /// A kind cluster that was found. It has a feed while its API server answers.
  struct ClusterState {
    std::string signature;  ///< of the connection; see KindCluster::signature
    std::shared_ptr<ClusterFeed> feed;
    bool connecting = false;
    unsigned failures = 0;
  };

  void watch_engine(std::stop_token stop);
  void on_engine_connected();
  void on_engine_event(const docker::Event& event);
  void on_container_event(const docker::Event& event);
  void refresh_clusters();
  void refresh_clusters_soon(std::chrono::milliseconds delay);
  void nodes_listed(const std::vector<docker::Container>& nodes);
  void sync_cluster(const KindCluster& cluster);
  void connect(const KindCluster& cluster);
  void connected(const KindCluster& cluster, core::Result<ClusterConnection> result);
  void drop_cluster(const std::string& name);
  void destroy_in_background(std::shared_ptr<ClusterFeed> feed);
  void remove_orphaned_proxies(const std::map<std::string, KindCluster>& present);
  void refresh_networks_soon();
  void drain_until(Loop::TimePoint deadline);

  docker::Engine& engine_;
  ProxyHost& host_;
  const Options options_;
  Loop loop_;
  base::ThreadPool engine_work_;
  base::ThreadPool api_work_;
  Fleet fleet_;
  Networks networks_;
  Reconciler reconciler_;
  std::map<std::string, ClusterState> clusters_;
  NodeWatch node_watch_;
  // Node containers are listed by one call at a time; requests meanwhile lead to one more.
  bool listing_ = false;
  bool list_again_ = false;
  bool list_scheduled_ = false;
  bool networks_scheduled_ = false;
  bool logged_no_cluster_ = false;
  std::jthread engine_watch_;
};

}  // namespace kindlb::controller
