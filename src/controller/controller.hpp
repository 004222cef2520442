#pragma once
// Everything wired together: the engine's events, the clusters they reveal, the fleet of proxies
// and the reconciler, on one loop. run() blocks until stopped and leaves the proxies serving.

#include "cluster_feed.hpp"
#include "fleet/fleet.hpp"
#include "fleet/proxy_host.hpp"
#include "kindlb/base/thread_pool.hpp"
#include "kindlb/controller/kind_clusters.hpp"
#include "kindlb/controller/provider.hpp"
#include "kindlb/docker/engine.hpp"
#include "loop.hpp"
#include "networks.hpp"
#include "reconciler.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

namespace kindlb::controller {

struct Options {
  core::Policy policy;
  FleetOptions fleet;
  std::optional<GivenCluster> only;  ///< absent: every kind cluster of the engine
  bool delete_on_exit = false;
  std::function<void()> on_started_up;  ///< called once, when the work of starting up is over
};

class Controller {
 public:
  Controller(docker::Engine& engine, ProxyHost& host, Options options);
  ~Controller();

  /// Until `stop`. With delete_on_exit, Services are let go first (bounded in time).
  void run(std::stop_token stop);

 private:
  struct ClusterState {
    std::string signature;
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
  void drain_until(std::chrono::steady_clock::time_point deadline);

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
  bool listing_ = false;
  bool list_again_ = false;
  bool list_scheduled_ = false;
  bool networks_scheduled_ = false;
  bool logged_no_cluster_ = false;
  std::jthread engine_watch_;
};

}  // namespace kindlb::controller
