#pragma once
// The kind clusters of the engine, or the one cluster given: which exist, a connection and a feed
// for each, and what the others are told of that (reconciler, networks, warm pool). Decides nothing
// about Services.
//
// Threads and lifetime: lives on the loop's thread, and all methods are called there; listings and
// connections run on the executor, which must be stopped before it is destroyed.
//
// Invariants:
//  - One listing of node containers is under way at a time; requests meanwhile lead to one more, so
//    that the last change is always seen.
//  - A cluster is known to the reconciler before it is connected to, so that no address is
//    allocated before its Services are listed.
//  - A feed belongs to one connection: it is replaced when the API server may have moved, and until
//    the new connection works, the objects listed by the old one stay.

#include "cluster_feed.hpp"
#include "fleet/fleet.hpp"
#include "kindlb/base/thread_pool.hpp"
#include "kindlb/controller/kind_clusters.hpp"
#include "kindlb/controller/provider.hpp"
#include "kindlb/docker/engine.hpp"
#include "loop.hpp"
#include "networks.hpp"
#include "reconciler/reconciler.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace kindlb::controller {

class ClusterDiscovery {
 public:
  struct Parts {
    Loop& loop;
    base::ThreadPool& engine_work;
    docker::Engine& engine;
    Fleet& fleet;
    Networks& networks;
    Reconciler& reconciler;
  };

  explicit ClusterDiscovery(Parts parts) : parts_(parts) {}

  /// Serve this cluster and no other. Its nodes are looked at nevertheless, where the engine has
  /// them.
  void serve_only(const GivenCluster& given);
  /// Events may have been lost: only what the engine lists counts.
  void on_engine_connected();
  /// What the engine tells about a node's container.
  void on_node_event(const docker::Event& event);
  /// List the node containers now; failures are retried.
  void refresh();
  /// The same after a delay; requests meanwhile are merged.
  void refresh_soon(std::chrono::milliseconds delay);
  /// End all feeds. Blocks until their threads have ended: not while the loop runs.
  void disconnect();

 private:
  /// A kind cluster that was found. It has a feed while its API server answers.
  struct Found {
    std::string signature;  ///< of the connection; see KindCluster::signature
    std::shared_ptr<ClusterFeed> feed;
    bool connecting = false;
    unsigned failures = 0;
    bool refused = false;  ///< its kubeconfig cannot be used, and that was logged
  };

  void listed(const std::vector<docker::Container>& nodes);
  void on_node_stopping(const std::string& id);
  void sync(const KindCluster& cluster);
  void connect(const KindCluster& cluster);
  void connected(const KindCluster& cluster, core::Result<ClusterConnection> result);
  static void log_failure(const std::string& name, Found& known, const core::Error& error);
  void drop(const std::string& name);
  void destroy_in_background(std::shared_ptr<ClusterFeed> feed);
  void remove_orphaned_proxies(const std::map<std::string, KindCluster>& present);

  const Parts parts_;
  bool only_given_ = false;
  std::map<std::string, Found> clusters_;
  NodeWatch node_watch_;
  bool listing_ = false;
  bool list_again_ = false;
  bool list_scheduled_ = false;
  bool logged_no_cluster_ = false;
};

}  // namespace kindlb::controller
