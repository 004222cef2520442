#include "controller.hpp"

#include "background.hpp"
#include "kindlb/base/sleep.hpp"
#include "kindlb/core/backoff.hpp"
#include "kindlb/log/log.hpp"
#include "kindlb/proxy/containers.hpp"

#include <utility>

namespace kindlb::controller {

namespace {

constexpr core::Backoff kEngineBackoff{std::chrono::milliseconds(100),
                                       std::chrono::milliseconds(3'000)};
constexpr core::Backoff kClusterBackoff{std::chrono::milliseconds(500),
                                        std::chrono::milliseconds(5'000)};
/// How long clusters may take to list their Services, whose addresses must be known before new ones
/// are allocated. A cluster that does not answer must not block the others for longer.
constexpr std::chrono::seconds kAdoptionGrace{3};
constexpr std::chrono::seconds kDrainLimit{20};
/// After this, start-up is over: see Options::on_started_up.
constexpr std::chrono::seconds kStartupTime{10};

core::Timestamp wall_clock() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

std::string attribute(const docker::Event& event, const std::string& name) {
  const auto found = event.attributes.find(name);
  return found == event.attributes.end() ? "" : found->second;
}

}  // namespace

Controller::Controller(docker::Engine& engine, ProxyHost& host, Options options)
    : engine_(engine),
      host_(host),
      options_(std::move(options)),
      engine_work_(4),
      api_work_(4),
      fleet_(
          loop_, engine_work_, host, options_.fleet,
          {.changed = [this](const std::string& unit) { reconciler_.unit_changed(unit); },
           .claim_failed = [this](const std::string& unit,
                                  const core::Error& why) { reconciler_.claim_failed(unit, why); },
           .discovered = [this] { reconciler_.plan_all(); }}),
      networks_(loop_, engine_work_, engine.networks(),
                [this](const std::string& name) { reconciler_.network_changed(name); }),
      reconciler_({loop_, api_work_, fleet_, networks_, options_.policy, wall_clock}) {
  host.set_listener(&fleet_);
}

Controller::~Controller() {
  // Background work and agents refer to members: stop them before the members are destroyed.
  host_.set_listener(nullptr);
  engine_work_.stop();
  api_work_.stop();
}

void Controller::run(std::stop_token stop) {
  if (options_.only) {
    const auto& only = *options_.only;
    reconciler_.add_cluster(only.name, only.network, kube::make_api(only.client, only.name));
    fleet_.keep_warm_on({only.network});
    clusters_[only.name].feed =
        std::make_shared<ClusterFeed>(loop_, reconciler_, only.name, only.client);
  }
  engine_watch_ = std::jthread([this](std::stop_token inner) { watch_engine(std::move(inner)); });
  loop_.after(kAdoptionGrace, [this] { reconciler_.open_allocation(); });
  if (options_.on_started_up) loop_.after(kStartupTime, options_.on_started_up);
  loop_.run(stop);
  if (options_.delete_on_exit) drain_until(std::chrono::steady_clock::now() + kDrainLimit);
  engine_watch_.request_stop();
  for (auto& [name, known] : clusters_) known.feed.reset();
  engine_watch_.join();
}

void Controller::drain_until(std::chrono::steady_clock::time_point deadline) {
  log::info("releasing every Service (--on-exit delete)");
  std::stop_source done;
  const std::function<void()> check = [&] {
    const bool done_all = reconciler_.drained() && !fleet_.has_warm();
    if (done_all || std::chrono::steady_clock::now() >= deadline)
      done.request_stop();
    else
      loop_.after(std::chrono::milliseconds(50), check);
  };
  loop_.post([&] {
    fleet_.keep_warm_on({});
    reconciler_.drain();
    check();
  });
  loop_.run(done.get_token());
}

// ---- the engine --------------------------------------------------------------------------------

/// Runs on a thread of its own: the event stream blocks. Reconnects with back-off, and warns once.
void Controller::watch_engine(std::stop_token stop) {
  unsigned failures = 0;
  while (!stop.stop_requested()) {
    const auto result = engine_.system().events(
        [&] {
          failures = 0;
          loop_.post([this] { on_engine_connected(); });
        },
        [this](const docker::Event& event) {
          loop_.post([this, event] { on_engine_event(event); });
        },
        stop);
    if (stop.stop_requested()) return;
    if (failures == 0)
      log::warn("docker engine: lost the event stream{}; reconnecting",
                result.ok() ? "" : ": " + result.error().text());
    base::sleep_for(stop, core::delay_before(failures++, kEngineBackoff, 0.5));
  }
}

/// The event stream is open, for the first time or again. Events in between are lost, so everything
/// is looked at anew.
void Controller::on_engine_connected() {
  networks_.refresh_all();
  fleet_.discover();
  refresh_clusters();
  reconciler_.retry_now();
}

void Controller::on_engine_event(const docker::Event& event) {
  if (event.type == "container") return on_container_event(event);
  if (event.type == "network" && (event.action == "connect" || event.action == "disconnect"))
    refresh_networks_soon();
}

void Controller::on_container_event(const docker::Event& event) {
  if (!attribute(event, proxy::kProxyLabel).empty()) {
    if (event.action == "start") fleet_.container_started(event.id);
    if (event.action == "die") fleet_.container_died(event.id);
    if (event.action == "destroy") fleet_.container_destroyed(event.id);
    return;
  }
  // A container that stops may free the address or port that a Service waits for.
  if (event.action == "die" || event.action == "destroy") reconciler_.retry_now();
  if (attribute(event, kKindClusterLabel).empty()) return;
  for (const auto* action : {"start", "die", "destroy", "pause", "unpause"})
    if (event.action == action) refresh_clusters_soon(std::chrono::milliseconds(50));
}

void Controller::refresh_networks_soon() {
  if (std::exchange(networks_scheduled_, true)) return;
  loop_.after(std::chrono::milliseconds(300), [this] {
    networks_scheduled_ = false;
    networks_.refresh_all();
  });
}

// ---- clusters ----------------------------------------------------------------------------------

void Controller::refresh_clusters_soon(std::chrono::milliseconds delay) {
  if (std::exchange(list_scheduled_, true)) return;
  loop_.after(delay, [this] {
    list_scheduled_ = false;
    refresh_clusters();
  });
}

void Controller::refresh_clusters() {
  if (std::exchange(listing_, true)) {
    list_again_ = true;
    return;
  }
  const auto listed = [this](const core::Result<std::vector<docker::Container>>& nodes) {
    listing_ = false;
    if (nodes.ok())
      nodes_listed(*nodes);
    else
      refresh_clusters_soon(std::chrono::seconds(1));
    if (std::exchange(list_again_, false)) refresh_clusters();
  };
  run_then(
      engine_work_, loop_, [this] { return engine_.containers().list({kKindClusterLabel}); },
      listed);
}

void Controller::nodes_listed(const std::vector<docker::Container>& nodes) {
  reconciler_.set_halted_nodes(node_watch_.halted(nodes));
  if (options_.only) return;
  const auto present = group_clusters(nodes);
  std::vector<std::string> gone;
  for (const auto& [name, known] : clusters_)
    if (!present.contains(name)) gone.push_back(name);
  for (const auto& name : gone) drop_cluster(name);
  for (const auto& [name, cluster] : present) sync_cluster(cluster);
  fleet_.keep_warm_on(reconciler_.networks());
  networks_.retain(reconciler_.networks());
  remove_orphaned_proxies(present);
  if (present.empty() && !std::exchange(logged_no_cluster_, true))
    log::info("no kind cluster found; waiting for one (kind create cluster)");
  if (!present.empty()) logged_no_cluster_ = false;
}

/// Connect to a cluster that is new, or whose control plane was recreated or has moved. Until the
/// new connection works, the objects listed by the old one stay.
void Controller::sync_cluster(const KindCluster& cluster) {
  const bool fresh = !clusters_.contains(cluster.name);
  auto& known = clusters_[cluster.name];
  if (fresh) {
    log::info("cluster {}: found on network {}", cluster.name, cluster.network);
    // Known to the reconciler at once, so that no address is allocated before its Services are
    // listed.
    reconciler_.add_cluster(cluster.name, cluster.network, nullptr);
  }
  reconciler_.set_nodes_running(cluster.name, cluster.all_running);
  if (cluster.control_planes.empty() || known.connecting) return;
  if (known.signature == cluster.signature() && known.feed) return;
  destroy_in_background(std::exchange(known.feed, nullptr));
  known.signature = cluster.signature();
  connect(cluster);
}

void Controller::connect(const KindCluster& cluster) {
  clusters_[cluster.name].connecting = true;
  run_then(
      engine_work_, loop_, [this, cluster] { return connect_cluster(engine_.files(), cluster); },
      [this, cluster](core::Result<ClusterConnection> result) {
        connected(cluster, std::move(result));
      });
}

void Controller::connected(const KindCluster& cluster, core::Result<ClusterConnection> result) {
  const auto found = clusters_.find(cluster.name);
  if (found == clusters_.end()) return;
  auto& known = found->second;
  known.connecting = false;
  if (!result.ok()) {
    // A cluster that is being created has no API server yet: not worth a warning each time.
    const auto level = known.failures == 0 ? log::Level::Info : log::Level::Debug;
    log::write(level, "cluster {}: API server not reachable yet: {}", cluster.name,
               result.error().text());
    refresh_clusters_soon(core::delay_before(known.failures++, kClusterBackoff, 0.5));
    return;
  }
  known.failures = 0;
  log::info("cluster {}: connected to Kubernetes {} at {}", cluster.name, result->version,
            result->url);
  reconciler_.add_cluster(cluster.name, cluster.network,
                          kube::make_api(result->client, cluster.name));
  known.feed = std::make_shared<ClusterFeed>(loop_, reconciler_, cluster.name, result->client);
  refresh_clusters_soon(std::chrono::milliseconds(0));  // its API may have moved meanwhile
}

void Controller::drop_cluster(const std::string& name) {
  log::info("cluster {}: removed", name);
  auto known = clusters_.extract(name);
  destroy_in_background(std::move(known.mapped().feed));
  reconciler_.remove_cluster(name);
}

/// Destroying a feed joins its watch threads, which would block the loop.
void Controller::destroy_in_background(std::shared_ptr<ClusterFeed> feed) {
  if (feed) engine_work_.submit([feed = std::move(feed)]() mutable { feed.reset(); });
}

/// Remove the proxies of clusters that no longer exist. A cluster name with '@' comes from another
/// kindlb's command line; that cluster cannot be seen here, so its proxies are left alone.
void Controller::remove_orphaned_proxies(const std::map<std::string, KindCluster>& present) {
  if (!fleet_.discovered()) {
    refresh_clusters_soon(std::chrono::milliseconds(200));
    return;
  }
  for (const auto& held : fleet_.held_units()) {
    const auto cluster = protocol::cluster_of(held.owner);
    if (present.contains(cluster) || cluster.find('@') != std::string::npos) continue;
    log::info("{}: its cluster no longer exists; removing its proxy", held.owner);
    fleet_.remove(held.unit);
  }
}

}  // namespace kindlb::controller
