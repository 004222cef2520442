#pragma once
// Wires everything together: the engine's events, the kind clusters found by them, the fleet of
// proxies and the reconciler, on one loop. Decides nothing about Services.
//
// Threads: run() is the loop's thread. One more thread follows the engine's events, each cluster
// has its watches, and two pools run engine calls and API writes; all of them only post to the
// loop. Two pools, because an engine that hangs must not keep statuses from being written.
// Lifetime: run() blocks until stopped and leaves the proxies serving (docs/contract.md §5). Engine
// and host must outlive the controller.

#include "cluster_discovery.hpp"
#include "fleet/fleet.hpp"
#include "fleet/proxy_host.hpp"
#include "kindlb/base/clock.hpp"
#include "kindlb/base/thread_pool.hpp"
#include "kindlb/controller/provider.hpp"
#include "kindlb/docker/engine.hpp"
#include "loop.hpp"
#include "networks.hpp"
#include "reconciler/reconciler.hpp"

#include <functional>
#include <optional>
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
  void run(const std::stop_token& stop);

 private:
  void watch_engine(const std::stop_token& stop);
  void on_engine_connected();
  void on_engine_event(const docker::Event& event);
  void on_container_event(const docker::Event& event);
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
  ClusterDiscovery discovery_;
  std::jthread engine_watch_;
};

}  // namespace kindlb::controller
