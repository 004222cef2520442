// Clusters are found by their node containers, connected to until that works, and dropped when they
// are gone. No API server answers here: connecting fails at the first step.
#include "cluster_discovery.hpp"

#include "controller/harness.hpp"
#include "support/printing.hpp"

#include <algorithm>

using namespace kindlb;
using namespace kindlb::test;
using NetworkNames = std::set<std::string>;

namespace {

struct Discoverer {
  FakeWorld world;
  LoopThread thread{world.clock};
  controller::Fleet fleet{thread.loop(),
                          thread.engine_work(),
                          world.host,
                          {.warm_proxies = 0},
                          {.changed = [](const std::string&) {},
                           .claim_failed = [](const std::string&, const core::Error&) {},
                           .discovered = [] {}}};
  controller::Networks networks{thread.loop(), thread.engine_work(), world.engine.networks(),
                                [](const std::string&) {}};
  controller::Reconciler reconciler{
      {thread.loop(), thread.api_work(), fleet, networks, {}, world.clock}};
  controller::ClusterDiscovery discovery{
      {thread.loop(), thread.engine_work(), world.engine, fleet, networks, reconciler}};

  Discoverer() {
    world.engine.images().add("node");
    world.host.set_listener(&fleet);
    fleet.discover();
    thread.start();
    thread.settle();
  }
  ~Discoverer() {
    world.host.set_listener(nullptr);
    thread.stop();
  }
  std::string add_node(const std::string& cluster) {
    return world.engine.containers().add({.name = cluster + "-control-plane",
                                          .image = "node",
                                          .labels = {{controller::kKindClusterLabel, cluster},
                                                     {controller::kKindRoleLabel, "control-plane"}},
                                          .network = "kind"});
  }
  void refresh() {
    thread.on_loop([this] { discovery.refresh(); });
    thread.settle();
  }
  /// Where clusters are served.
  NetworkNames served() {
    return thread.on_loop([this] { return reconciler.networks(); });
  }
  std::size_t lists() { return world.engine.calls().count("list_containers"); }
  std::size_t connects() { return world.engine.calls().count("read_file"); }
};

}  // namespace

TEST_CASE_FIXTURE(Discoverer,
                  "a cluster is served from when its nodes are seen until they are gone") {
  refresh();
  CHECK(served().empty());
  const auto node = add_node("kind");
  refresh();
  CHECK(served() == NetworkNames{"kind"});
  world.engine.containers().vanish(node);
  refresh();
  CHECK(served().empty());
}

TEST_CASE_FIXTURE(Discoverer,
                  "a cluster that does not answer yet is tried again, ever more slowly") {
  add_node("kind");
  refresh();
  CHECK(connects() == 1);
  thread.pass(std::chrono::seconds(60));
  CHECK(connects() > 10);
  CHECK(connects() < 25);
}

TEST_CASE_FIXTURE(Discoverer, "a cluster whose kubeconfig cannot be used holds up no other") {
  world.engine.files().set(add_node("a"), "/etc/kubernetes/admin.conf", "- a list\n");
  add_node("b");
  refresh();
  thread.pass(std::chrono::seconds(60));
  const auto calls = world.engine.calls().journal();
  CHECK(std::ranges::count(calls, "read_file a-control-plane") > 10);
  CHECK(std::ranges::count(calls, "read_file b-control-plane") > 10);
}

TEST_CASE_FIXTURE(Discoverer,
                  "requests while a listing is under way or scheduled lead to one more") {
  thread.on_loop([this] {
    for (int i = 0; i < 10; ++i) discovery.refresh();
  });
  thread.settle();
  CHECK(lists() == 2);
  thread.on_loop([this] {
    for (int i = 0; i < 10; ++i) discovery.refresh_soon(std::chrono::milliseconds(50));
  });
  thread.settle();
  CHECK(lists() == 2);
  thread.pass(std::chrono::seconds(1));
  CHECK(lists() == 3);
}

TEST_CASE_FIXTURE(Discoverer, "a listing that fails is retried") {
  world.engine.calls().fail_next("list_containers",
                                 {core::ErrorKind::Unavailable, "list", "refused"}, 2);
  add_node("kind");
  refresh();
  CHECK(served().empty());
  CHECK(thread.wait_until([this] { return !reconciler.networks().empty(); }));
  CHECK(lists() == 3);
}

TEST_CASE_FIXTURE(Discoverer, "proxies of clusters that no longer exist are removed") {
  const auto gone = world.host.add_warm("kind");
  const auto given = world.host.add_warm("kind");
  world.host.give_unit(gone, {"u1", "former/default/web", "s.d", true, {}});
  world.host.give_unit(given, {"u2", "dev@other/default/web", "s.d", true, {}});
  thread.on_loop([this] { fleet.discover(); });
  thread.settle();
  refresh();
  CHECK(thread.wait_until([this] { return world.host.holder_of("u1").empty(); }));
  CHECK(world.host.holder_of("u2") == given);  // another kindlb's: its cluster cannot be seen here
}
