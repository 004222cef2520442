#pragma once
// Kind clusters as the engine shows them: containers with the label io.x-k8s.kind.cluster. Pure
// reading of a container list; connecting is connect_cluster's business.

#include "kindlb/core/result.hpp"
#include "kindlb/docker/engine.hpp"
#include "kindlb/http/client.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace kindlb::controller {

inline constexpr const char* kKindClusterLabel = "io.x-k8s.kind.cluster";
inline constexpr const char* kKindRoleLabel = "io.x-k8s.kind.role";

struct KindCluster {
  std::string name;
  std::string network;                            ///< the docker network its nodes share
  std::vector<docker::Container> control_planes;  ///< running ones, by name
  std::vector<docker::Container> balancers;       ///< of a cluster with several control planes
  bool all_running = true;                        ///< every node container runs

  /// Changes when the API may have moved: containers recreated, or with new addresses.
  std::string signature() const;
};

std::map<std::string, KindCluster> group_clusters(const std::vector<docker::Container>& nodes);

/// Which nodes stand still: their containers are stopped, paused, or no longer there, which the API
/// learns much later. A kind node is called as its container was when it was made.
class NodeWatch {
 public:
  /// `nodes`: all node containers there are now.
  std::set<std::string> halted(const std::vector<docker::Container>& nodes);

 private:
  struct Seen {
    std::string cluster;
    std::string name;
  };
  std::map<std::string, Seen> seen_;  ///< by container id
};

/// Where the API server may be reached, best first: addresses on the docker network, then published
/// ports of this machine.
std::vector<std::string> api_urls(const KindCluster& cluster);

struct ClusterConnection {
  std::shared_ptr<http::Client> client;
  std::string url;
  std::string version;
};

/// Reads the admin kubeconfig out of a control-plane container and tries the places it may be
/// reached at. Blocks.
core::Result<ClusterConnection> connect_cluster(docker::Engine& engine, const KindCluster& cluster);

}  // namespace kindlb::controller
