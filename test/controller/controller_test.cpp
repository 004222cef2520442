// The engine's events on their way to the fleet. Everything behind it has tests of its own.
#include "controller.hpp"

#include "controller/harness.hpp"
#include "kindlb/proxy/containers.hpp"
#include "support/printing.hpp"

using namespace kindlb;
using namespace kindlb::test;

namespace {

/// A kindlb that has adopted one proxy. The proxy serves a cluster of another kindlb's command
/// line, so that it is not an orphan here.
class Running {
 public:
  Running() {
    id = world.host.add_warm("kind");
    world.host.give_unit(id, {"u1", "one@other/default/u1", "s.d", true, {}, 1});
    thread_ = std::jthread([this](const std::stop_token& stop) { controller_.run(stop); });
    REQUIRE(until([this] { return world.host.is_connected(id); }));
  }
  void tell(const std::string& type, const std::string& action) {
    docker::Event event{.type = type, .action = action, .id = type == "network" ? "net" : id};
    event.attributes = {{proxy::kProxyLabel, "1"}, {"container", id}};
    world.engine.system().publish(event);
  }
  /// With a deadline by the real clock, which this kindlb uses.
  static bool until(const std::function<bool()>& holds) {
    const auto deadline = base::machine_clock().now() + std::chrono::seconds(30);
    while (!holds() && base::machine_clock().now() < deadline) std::this_thread::yield();
    return holds();
  }

  FakeWorld world;
  std::string id;

 private:
  controller::Controller controller_{
      world.engine, world.host, {.fleet = {.warm_proxies = 0}}, base::machine_clock()};
  std::jthread thread_;
};

}  // namespace

TEST_CASE_FIXTURE(Running, "a proxy that is paused is replaced") {
  tell("container", "pause");
  CHECK(until([this] { return world.host.size() == 0; }));
}

TEST_CASE_FIXTURE(Running, "a proxy that is unpaused at once is not") {
  tell("container", "pause");
  tell("container", "unpause");
  // Its answer comes after the events were handled.
  tell("network", "disconnect");
  REQUIRE(until([this] { return world.journal.count("inspect") == 1; }));
  CHECK(world.journal.count("remove") == 0);
}

TEST_CASE_FIXTURE(Running, "the engine is asked about a proxy that is disconnected, and it goes") {
  world.host.disconnect_network(id);
  tell("network", "disconnect");
  CHECK(until([this] { return world.host.size() == 0; }));
  CHECK(world.journal.count("inspect") >= 1);
}

TEST_CASE_FIXTURE(Running, "what happened while the event stream was broken is found out") {
  world.host.pause(id);
  world.engine.system().break_events();
  CHECK(until([this] { return world.host.size() == 0; }));
}
