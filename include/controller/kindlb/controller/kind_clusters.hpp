#pragma once
// Kind clusters as the engine shows them: containers with the label io.x-k8s.kind.cluster. Pure
// functions of a container list, except for connect_cluster(), which blocks.

#include "kindlb/core/result.hpp"
#include "kindlb/docker/container_files.hpp"
#include "kindlb/docker/containers.hpp"
#include "kindlb/http/client.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace kindlb::controller {

inline constexpr const char* kKindClusterLabel = "io.x-k8s.kind.cluster";
inline constexpr const char* kKindRoleLabel = "io.x-k8s.kind.role";

/// One cluster, from the containers that carry its name.
struct KindCluster {
  std::string name;
  std::string network;                            ///< the docker network its nodes share
  std::vector<docker::Container> control_planes;  ///< running ones, by name
  std::vector<docker::Container> balancers;       ///< of a cluster with several control planes
  bool all_running = true;                        ///< every node container runs

  /// Return a text that changes whenever the API server may have moved: its containers were
  /// recreated, or have new addresses. As long as it is the same, a connection stays valid.
  std::string signature() const;
};

/// Group node containers by cluster name.
std::map<std::string, KindCluster> group_clusters(const std::vector<docker::Container>& nodes);

/// Tells which nodes are halted: their containers are stopped, paused or removed, which the API
/// server learns much later. Remembers nodes it has seen, because a removed container is in no
/// list. A node's name in Kubernetes is that of its container at creation, so the first name seen
/// counts.
class NodeWatch {
 public:
  /// A node's container is being stopped: its pods end before it does, and nobody tells the API.
  void on_stopping(const std::string& id) { stopping_.insert(id); }
  /// It runs on, some time after it should have stopped.
  void on_survived(const std::string& id) { stopping_.erase(id); }
  /// It has died, says an event: the engine lists it as running for a moment longer.
  void on_died(const std::string& id) { died_.insert(id); }
  void on_started(const std::string& id);
  /// Events were lost: only what is listed counts.
  void forget_events();

  /// Return the names of halted nodes. `nodes`: all node containers that exist now.
  std::set<std::string> halted(const std::vector<docker::Container>& nodes);

 private:
  struct Seen {
    std::string cluster;
    std::string name;
  };
  std::map<std::string, Seen> seen_;  ///< by container id
  std::set<std::string> stopping_;    ///< container ids
  std::set<std::string> died_;        ///< the same
};

/// Return the URLs at which the API server may be reached, best first: addresses on the docker
/// network, then ports published on this machine (for engines in a virtual machine).
std::vector<std::string> api_urls(const KindCluster& cluster);

/// A client that has reached the API server.
struct ClusterConnection {
  std::shared_ptr<http::Client> client;
  std::string url;
  std::string version;
};

/// Read the admin kubeconfig from a control-plane container and try api_urls() until one answers.
/// Invalid: the kubeconfig cannot be used, and waiting does not help. Blocks.
core::Result<ClusterConnection> connect_cluster(docker::ContainerFiles& files,
                                                const KindCluster& cluster);

}  // namespace kindlb::controller
