#include "cluster_discovery.hpp"

#include "background.hpp"
#include "kindlb/core/backoff.hpp"
#include "kindlb/log/log.hpp"

#include <utility>

namespace kindlb::controller {

namespace {

constexpr core::Backoff kClusterBackoff{std::chrono::milliseconds(500),
                                        std::chrono::milliseconds(5'000)};
/// How long a node counts as being stopped: what `docker stop` waits by default, and a bit.
constexpr std::chrono::seconds kStopTimeout{15};

/// A signal that ends a kind node, whose first process is systemd: SIGRTMIN+3, which `docker stop`
/// sends, and SIGKILL.
bool stops_node(const docker::Event& event) {
  const auto signal = event.attributes.find("signal");
  return event.action == "kill" && signal != event.attributes.end() &&
         (signal->second == "37" || signal->second == "9");
}

}  // namespace

void ClusterDiscovery::serve_only(const GivenCluster& given) {
  only_given_ = true;
  parts_.reconciler.add_cluster(given.name, given.network,
                                kube::make_api(given.client, given.name));
  parts_.fleet.keep_warm_on({given.network});
  clusters_[given.name].feed =
      std::make_shared<ClusterFeed>(parts_.loop, parts_.reconciler, given.name, given.client);
}

void ClusterDiscovery::disconnect() {
  for (auto& [name, known] : clusters_) known.feed.reset();
}

void ClusterDiscovery::on_engine_connected() {
  node_watch_.forget_events();
  refresh();
}

/// A signal does not always end a container.
void ClusterDiscovery::on_node_stopping(const std::string& id) {
  node_watch_.on_stopping(id);
  refresh_soon(std::chrono::milliseconds(0));
  parts_.loop.after(kStopTimeout, [this, id] {
    node_watch_.on_survived(id);
    refresh_soon(std::chrono::milliseconds(0));
  });
}

void ClusterDiscovery::on_node_event(const docker::Event& event) {
  if (stops_node(event)) on_node_stopping(event.id);
  if (event.action == "die") node_watch_.on_died(event.id);
  if (event.action == "start") node_watch_.on_started(event.id);
  for (const auto* action : {"start", "die", "destroy", "pause", "unpause"})
    if (event.action == action) refresh_soon(std::chrono::milliseconds(50));
}

void ClusterDiscovery::refresh_soon(std::chrono::milliseconds delay) {
  if (std::exchange(list_scheduled_, true)) return;
  parts_.loop.after(delay, [this] {
    list_scheduled_ = false;
    refresh();
  });
}

void ClusterDiscovery::refresh() {
  if (std::exchange(listing_, true)) {
    list_again_ = true;
    return;
  }
  const auto done = [this](const core::Result<std::vector<docker::Container>>& nodes) {
    listing_ = false;
    if (nodes.ok())
      listed(*nodes);
    else
      refresh_soon(std::chrono::seconds(1));
    if (std::exchange(list_again_, false)) refresh();
  };
  run_then(
      parts_.engine_work, parts_.loop,
      [this] { return parts_.engine.containers().list({kKindClusterLabel}); }, done);
}

void ClusterDiscovery::listed(const std::vector<docker::Container>& nodes) {
  parts_.reconciler.set_halted_nodes(node_watch_.halted(nodes));
  if (only_given_) return;
  const auto present = group_clusters(nodes);
  std::vector<std::string> gone;
  for (const auto& [name, known] : clusters_)
    if (!present.contains(name)) gone.push_back(name);
  for (const auto& name : gone) drop(name);
  for (const auto& [name, cluster] : present) sync(cluster);
  parts_.fleet.keep_warm_on(parts_.reconciler.networks());
  parts_.networks.retain(parts_.reconciler.networks());
  remove_orphaned_proxies(present);
  if (present.empty() && !std::exchange(logged_no_cluster_, true))
    log::info("no kind cluster found; waiting for one (kind create cluster)");
  if (!present.empty()) logged_no_cluster_ = false;
}

/// Connect to a cluster that is new, or whose control plane was recreated or has moved. Until the
/// new connection works, the objects listed by the old one stay.
void ClusterDiscovery::sync(const KindCluster& cluster) {
  const bool fresh = !clusters_.contains(cluster.name);
  auto& known = clusters_[cluster.name];
  if (fresh) {
    log::info("cluster {}: found on network {}", cluster.name, cluster.network);
    // Known to the reconciler at once, so that no address is allocated before its Services are
    // listed.
    parts_.reconciler.add_cluster(cluster.name, cluster.network, nullptr);
  }
  parts_.reconciler.set_nodes_running(cluster.name, cluster.all_running);
  if (cluster.control_planes.empty() || known.connecting) return;
  if (known.signature == cluster.signature() && known.feed) return;
  destroy_in_background(std::exchange(known.feed, nullptr));
  known.signature = cluster.signature();
  connect(cluster);
}

void ClusterDiscovery::connect(const KindCluster& cluster) {
  clusters_[cluster.name].connecting = true;
  run_then(
      parts_.engine_work, parts_.loop,
      [this, cluster] { return connect_cluster(parts_.engine.files(), cluster); },
      [this, cluster](core::Result<ClusterConnection> result) {
        connected(cluster, std::move(result));
      });
}

void ClusterDiscovery::connected(const KindCluster& cluster,
                                 core::Result<ClusterConnection> result) {
  const auto found = clusters_.find(cluster.name);
  if (found == clusters_.end()) return;
  auto& known = found->second;
  known.connecting = false;
  if (!result.ok()) {
    log_failure(cluster.name, known, result.error());
    refresh_soon(core::delay_before(known.failures++, kClusterBackoff, 0.5));
    return;
  }
  known.failures = 0;
  known.refused = false;
  log::info("cluster {}: connected to Kubernetes {} at {}", cluster.name, result->version,
            result->url);
  parts_.reconciler.add_cluster(cluster.name, cluster.network,
                                kube::make_api(result->client, cluster.name));
  known.feed =
      std::make_shared<ClusterFeed>(parts_.loop, parts_.reconciler, cluster.name, result->client);
  refresh_soon(std::chrono::milliseconds(0));  // its API may have moved meanwhile
}

/// A cluster that is being created has no API server yet: not worth a warning, and said once. A
/// kubeconfig that cannot be used stays so until somebody changes it: worth one.
void ClusterDiscovery::log_failure(const std::string& name, Found& known,
                                   const core::Error& error) {
  if (error.kind == core::ErrorKind::Invalid) {
    const auto level = std::exchange(known.refused, true) ? log::Level::Debug : log::Level::Warn;
    return log::write(level, "cluster {}: cannot be served: {}", name, error.text());
  }
  const auto level = known.failures == 0 ? log::Level::Info : log::Level::Debug;
  log::write(level, "cluster {}: API server not reachable yet: {}", name, error.text());
}

void ClusterDiscovery::drop(const std::string& name) {
  log::info("cluster {}: removed", name);
  auto known = clusters_.extract(name);
  destroy_in_background(std::move(known.mapped().feed));
  parts_.reconciler.remove_cluster(name);
}

/// Destroying a feed joins its watch threads, which would block the loop.
void ClusterDiscovery::destroy_in_background(std::shared_ptr<ClusterFeed> feed) {
  if (feed) parts_.engine_work.submit([feed = std::move(feed)]() mutable { feed.reset(); });
}

/// Remove the proxies of clusters that no longer exist. A cluster name with '@' comes from another
/// kindlb's command line; that cluster cannot be seen here, so its proxies are left alone.
void ClusterDiscovery::remove_orphaned_proxies(const std::map<std::string, KindCluster>& present) {
  if (!parts_.fleet.discovered()) {
    refresh_soon(std::chrono::milliseconds(200));
    return;
  }
  for (const auto& held : parts_.fleet.held_units()) {
    const auto cluster = protocol::cluster_of(held.owner);
    if (present.contains(cluster) || cluster.find('@') != std::string::npos) continue;
    log::info("{}: its cluster no longer exists; removing its proxy", held.owner);
    parts_.fleet.remove(held.unit);
  }
}

}  // namespace kindlb::controller
