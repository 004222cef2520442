#pragma once
// kindlb over fakes: a FakeWorld that outlives it (an API server per cluster, proxies, a docker
// network, the time), and a Kindlb that lives in it on real threads and may be ended and started
// again at any moment.
//
// Time stands still while anything is under way, on the loop or in a pool, and leaps to the next
// timer when a test waits and nothing is. So no test waits for real time, and none depends on how
// fast the machine is.

#include "fleet/fleet.hpp"
#include "kindlb/base/thread_pool.hpp"
#include "loop.hpp"
#include "networks.hpp"
#include "reconciler/reconciler.hpp"
#include "support/builders.hpp"
#include "support/fakes/fake_docker.hpp"
#include "support/fakes/fake_kube.hpp"
#include "support/fakes/fake_proxy_host.hpp"
#include "support/fakes/journal.hpp"
#include "support/fakes/manual_clock.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace kindlb::test {

/// How much of the loop's time a condition may take.
inline constexpr std::chrono::hours kPatience{1};

/// A loop with a thread to run it, and the pools for work that blocks.
class LoopThread {
 public:
  explicit LoopThread(testing::ManualClock& clock) : clock_(clock), loop_(clock) {}
  ~LoopThread() { stop(); }
  controller::Loop& loop() { return loop_; }
  base::ThreadPool& engine_work() { return engine_work_; }
  base::ThreadPool& api_work() { return api_work_; }
  void start() {
    thread_ = std::jthread([this](const std::stop_token& stop) { loop_.run(stop); });
  }
  /// Nothing runs on the loop or in the pools afterwards.
  void stop();
  /// What `ask` gives on the loop's thread, where everything may be looked at.
  template <typename Ask>
  auto on_loop(Ask ask) {
    auto task = std::make_shared<std::packaged_task<std::invoke_result_t<Ask>()>>(std::move(ask));
    auto answer = task->get_future();
    loop_.post([task] { (*task)(); });
    return answer.get();
  }
  // These may also be called by work in the pools (the hooks of fakes), but not on the loop.
  /// True as soon as `holds` does, asked on the loop's thread; false when patience ends, or when
  /// nothing is left that could change anything.
  bool wait_until(const std::function<bool()>& holds);
  /// Let this much time pass, with all that is due meanwhile.
  void pass(std::chrono::milliseconds duration);
  /// Let everything end that is under way or due, while time stands still.
  void settle() { pass(std::chrono::milliseconds(0)); }

 private:
  enum class Seen { Holds, Busy, Nothing };

  Seen wait(const std::function<bool()>& holds, controller::Loop::TimePoint limit);
  Seen look(const std::function<bool()>& holds, controller::Loop::TimePoint limit, bool in_pool);

  const std::thread::id owner_ = std::this_thread::get_id();
  testing::ManualClock& clock_;
  controller::Loop loop_;
  std::mutex looking_;                ///< guards waiting_in_pools_
  std::condition_variable turn_;      ///< of the test, once no work waits
  std::size_t waiting_in_pools_ = 0;  ///< work that waits here: not under way, though it runs
  base::ThreadPool engine_work_{4};
  base::ThreadPool api_work_{4};
  std::jthread thread_;
};

/// Tell the fleet what the engine's events say.
void tell_event(controller::Fleet& fleet, const std::string& action, const std::string& id);
/// Let agents announce heartbeats, and send them for as long as the loop runs.
void send_heartbeats(controller::Loop& loop, testing::FakeProxyHost& host);

/// What is there whether kindlb runs or not.
struct FakeWorld {
  FakeWorld();

  testing::FakeKube& add_cluster(const std::string& name, const std::string& network = "kind");
  testing::FakeKube& kube() { return *clusters.at("kind").api; }
  /// A Service with two ready pods behind it.
  core::Service add_service(const core::Service& service = a_service().with_port(80));
  /// Port 81 in default/web, and its EndpointSlice follows.
  void add_port();
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
  testing::ManualClock clock;
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
    std::size_t services_per_proxy = 1;
    bool heartbeats = false;  ///< agents announce and send them
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
  void pass(std::chrono::milliseconds duration) { thread_.pass(duration); }
  void settle() { thread_.settle(); }
  bool wait_serving(const std::string& name = "default/web") {
    return wait_until([this, name] { return world_.kube().get(name) && world_.serves(name); });
  }
  bool wait_gone(const std::string& name = "default/web") {
    return wait_until([this, name] { return world_.gone(name) && fleet().held_units().empty(); });
  }
  /// Whatever was under way has ended: the pool is full, every channel open, nothing is written.
  /// False if that does not happen, or if the journal's cut kills this kindlb.
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
  controller::Fleet fleet_;
  controller::Networks networks_;
  controller::Reconciler reconciler_;
};

}  // namespace kindlb::test
