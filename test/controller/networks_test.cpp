#include "controller/harness.hpp"
#include "support/printing.hpp"

using namespace kindlb;
using namespace kindlb::test;
using controller::Networks;

namespace {

/// Networks with a loop of its own; says how often it told of a change.
struct Lookout {
  testing::ManualClock clock;
  testing::FakeEngine engine;
  LoopThread thread{clock};
  std::map<std::string, int> changes;
  Networks networks{thread.loop(), thread.engine_work(), engine.networks(),
                    [this](const std::string& name) { ++changes[name]; }};

  Lookout() {
    engine.networks().add({.name = "kind", .subnets = {{cidr("172.18.0.0/24"), ip("172.18.0.1")}}});
    thread.start();
  }
  ~Lookout() { thread.stop(); }
  void refresh(const std::string& name) {
    thread.on_loop([&] { networks.refresh(name); });
  }
  bool wait_until(const std::function<bool()>& holds) { return thread.wait_until(holds); }
};

}  // namespace

TEST_CASE("facts: subnets, gateways and members") {
  docker::Network network{.name = "kind"};
  network.subnets = {{cidr("172.18.0.0/16"), ip("172.18.0.1")},
                     {cidr("fc00::/64"), std::nullopt},
                     {cidr("172.19.0.0/16"), ip("172.19.0.1")}};
  network.members = {{.container_id = "a", .ipv4 = cidr("172.18.0.2/16")},
                     {.container_id = "b", .ipv6 = cidr("fc00::2/64")},
                     {.container_id = "c"}};
  const auto facts = controller::facts_of(network);
  CHECK(facts.subnets.at(core::IpFamily::V4) == cidr("172.18.0.0/16"));  // the first of a family
  CHECK(facts.subnets.at(core::IpFamily::V6) == cidr("fc00::/64"));
  CHECK(facts.in_use == std::set<core::IpAddress>{ip("172.18.0.1"), ip("172.19.0.1"),
                                                  ip("172.18.0.2"), ip("fc00::2")});
}

TEST_CASE("a network is looked up, and again when something joined") {
  Lookout lookout;
  lookout.refresh("kind");
  REQUIRE(lookout.wait_until([&] { return lookout.networks.find("kind") != nullptr; }));
  CHECK(lookout.thread.on_loop([&] { return lookout.changes["kind"]; }) == 1);

  SUBCASE("nothing new: not a change") {
    const auto before = lookout.engine.calls().count("inspect_network");
    lookout.refresh("kind");
    REQUIRE(lookout.wait_until(
        [&] { return lookout.engine.calls().count("inspect_network") == before + 1; }));
    lookout.thread.on_loop([] {});
    CHECK(lookout.thread.on_loop([&] { return lookout.changes["kind"]; }) == 1);
  }
  SUBCASE("a member: a change") {
    lookout.engine.images().add("node");
    lookout.engine.containers().add({.name = "node-a", .image = "node", .network = "kind"});
    lookout.refresh("kind");
    CHECK(lookout.wait_until([&] { return lookout.changes["kind"] == 2; }));
  }
  SUBCASE("the engine is away: what it said before holds") {
    lookout.engine.calls().fail_next("inspect_network",
                                     {core::ErrorKind::Unavailable, "inspect", "x"}, 2);
    const auto before = lookout.engine.calls().count("inspect_network");
    lookout.refresh("kind");
    REQUIRE(lookout.wait_until(
        [&] { return lookout.engine.calls().count("inspect_network") >= before + 3; }));
    CHECK(lookout.thread.on_loop([&] { return lookout.networks.find("kind") != nullptr; }));
    CHECK(lookout.thread.on_loop([&] { return lookout.changes["kind"]; }) == 1);
  }
  SUBCASE("the network is gone: it is unknown, and looked for until it is back") {
    REQUIRE(lookout.engine.networks().remove("kind").ok());
    lookout.refresh("kind");
    REQUIRE(lookout.wait_until([&] { return lookout.networks.find("kind") == nullptr; }));
    CHECK_FALSE(lookout.thread.on_loop([&] { return lookout.networks.error("kind"); }).empty());
    lookout.engine.networks().add({.name = "kind", .subnets = {{cidr("172.20.0.0/24"), {}}}});
    CHECK(lookout.wait_until([&] { return lookout.networks.find("kind") != nullptr; }));
    CHECK(lookout.thread.on_loop([&] { return lookout.networks.error("kind"); }).empty());
  }
  SUBCASE("one that is not retained is forgotten") {
    lookout.thread.on_loop([&] { lookout.networks.retain({"other"}); });
    CHECK(lookout.thread.on_loop([&] { return lookout.networks.find("kind") == nullptr; }));
  }
}

TEST_CASE("many refreshes of a network that is not there make one chain of retries") {
  Lookout lookout;
  for (int i = 0; i < 50; ++i) lookout.refresh("nowhere");
  lookout.thread.settle();
  const auto before = lookout.engine.calls().count("inspect_network");
  lookout.thread.pass(std::chrono::seconds(10));
  CHECK(lookout.engine.calls().count("inspect_network") - before == 5);  // one per 2 s
}

TEST_CASE("refreshes while a look-up is under way make one more") {
  Lookout lookout;
  std::promise<void> go;
  auto gone = go.get_future().share();
  lookout.engine.calls().on_call([gone](const std::string&, const std::string&) { gone.wait(); });
  for (int i = 0; i < 20; ++i) lookout.refresh("kind");
  go.set_value();
  REQUIRE(lookout.wait_until([&] { return lookout.engine.calls().count("inspect_network") == 2; }));
  lookout.refresh("kind");
  REQUIRE(lookout.wait_until([&] { return lookout.engine.calls().count("inspect_network") >= 3; }));
  CHECK(lookout.engine.calls().count("inspect_network") == 3);
}

TEST_CASE("a burst of changes leads to one look, shortly after") {
  Lookout lookout;
  lookout.refresh("kind");
  lookout.thread.settle();
  for (int i = 0; i < 20; ++i) lookout.thread.on_loop([&] { lookout.networks.refresh_all_soon(); });
  lookout.thread.settle();
  CHECK(lookout.engine.calls().count("inspect_network") == 1);
  lookout.thread.pass(std::chrono::seconds(1));
  CHECK(lookout.engine.calls().count("inspect_network") == 2);
}
