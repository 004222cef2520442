#pragma once
// kindlb over fakes: a FakeWorld that outlives it (an API server per cluster, proxies, a docker
// network), and a Kindlb that lives in it on real threads and may be ended and started again at any
// moment. Delays pass kHurry times faster than they say.

#include "fleet/fleet.hpp"
#include "kindlb/base/thread_pool.hpp"
#include "loop.hpp"
#include "networks.hpp"
#include "reconciler.hpp"
#include "support/builders.hpp"
#include "support/fakes/fake_docker.hpp"
#include "support/fakes/fake_kube.hpp"
#include "support/fakes/fake_proxy_host.hpp"
#include "support/fakes/journal.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace kindlb::test {

inline constexpr unsigned kHurry = 200;
inline constexpr std::chrono::seconds kPatience{30};

/// A loop with a thread to run it.
class LoopThread {
 public:
  explicit LoopThread(unsigned hurry = kHurry) : loop_(hurry) {}
  ~LoopThread() { stop(); }
  controller::Loop& loop() { return loop_; }
  void start() {
    thread_ = std::jthread([this](const std::stop_token& stop) { loop_.run(stop); });
  }
  /// Nothing runs on the loop afterwards.
  void stop() { thread_ = {}; }
  /// What `ask` gives on the loop's thread, where everything may be looked at.
  template <typename Ask>
  auto on_loop(Ask ask) {
    auto task = std::make_shared<std::packaged_task<std::invoke_result_t<Ask>()>>(std::move(ask));
    auto answer = task->get_future();
    loop_.post([task] { (*task)(); });
    return answer.get();
  }
  /// True as soon as `holds` does, asked on the loop's thread; false when patience ends.
  bool wait_until(const std::function<bool()>& holds);

 private:
  controller::Loop loop_;
  std::jthread thread_;
};

/// What is there whether kindlb runs or not.
struct FakeWorld {
  FakeWorld();

  testing::FakeKube& add_cluster(const std::string& name, const std::string& network = "kind");
  testing::FakeKube& kube() { return *clusters.at("kind").api; }
  /// A Service with two ready pods behind it.
  core::Service add_service(const core::Service& service = a_service().with_port(80));
  core::Service service(const std::string& name = "default/web") { return *kube().get(name); }
  bool gone(const std::string& name = "default/web") { return !kube().get(name); }
  std::string serving(const std::string& name = "default/web");  ///< "True/Serving"
  bool serves(const std::string& name = "default/web") { return serving(name) == "True/Serving"; }
  std::string address(const std::string& name = "default/web");
  std::size_t writes() const { return journal.count("apply") + journal.count("release"); }

  struct Cluster {
    std::string network;
    std::shared_ptr<testing::FakeKube> api;
  };
  testing::Journal journal;
  testing::FakeEngine engine;
  testing::FakeProxyHost host{journal};
  std::map<std::string, Cluster> clusters;
};

class Kindlb {
 public:
  struct Options {
    std::size_t warm_proxies = 1;
    core::Policy policy;
    /// Clusters that are not watched yet.
    std::set<std::string> unwatched;
  };

  explicit Kindlb(FakeWorld& world) : Kindlb(world, Options()) {}
  Kindlb(FakeWorld& world, Options options);
  ~Kindlb();

  void watch(const std::string& cluster);
  template <typename Ask>
  auto on_loop(Ask ask) {
    return thread_.on_loop(std::move(ask));
  }
  bool wait_until(const std::function<bool()>& holds) { return thread_.wait_until(holds); }
  bool wait_serving(const std::string& name = "default/web") {
    return wait_until([this, name] { return world_.kube().get(name) && world_.serves(name); });
  }
  bool wait_gone(const std::string& name = "default/web") {
    return wait_until([this, name] { return world_.gone(name) && fleet().held_units().empty(); });
  }
  /// Whatever was under way has ended: the pool is full, every channel open, nothing is written.
  bool wait_quiet();

  controller::Loop& loop() { return thread_.loop(); }
  controller::Fleet& fleet() { return fleet_; }
  controller::Networks& networks() { return networks_; }
  controller::Reconciler& reconciler() { return reconciler_; }

 private:
  bool is_calm() const;

  FakeWorld& world_;
  const Options options_;
  LoopThread thread_;
  base::ThreadPool engine_work_{4};
  base::ThreadPool api_work_{4};
  controller::Fleet fleet_;
  controller::Networks networks_;
  controller::Reconciler reconciler_;
};

}  // namespace kindlb::test
