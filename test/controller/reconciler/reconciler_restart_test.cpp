#include "controller/harness.hpp"
#include "kindlb/core/eligibility.hpp"
#include "support/printing.hpp"

using namespace kindlb;
using namespace kindlb::test;
using core::Service;

namespace {

protocol::UnitState unit_of(const std::string& unit, const std::string& owner) {
  return {unit, owner, "s.d", true, {cidr("172.18.0.99/24")}};
}

/// One kindlb after the other in the same world: whenever the journal's cut kills one, another one
/// takes over.
class Succession {
 public:
  explicit Succession(FakeWorld& world) : world_(world) { begin(); }
  bool until(const std::function<bool()>& holds) {
    for (;;) {
      const bool there = kindlb_->wait_until([&] { return world_.journal.dead() || holds(); });
      if (!world_.journal.dead()) return there;
      take_over();
    }
  }
  bool wait_quiet() {
    for (;;) {
      const bool quiet = kindlb_->wait_quiet();
      if (!world_.journal.dead()) return quiet;
      take_over();
    }
  }
  Kindlb& kindlb() { return *kindlb_; }
  int deaths = 0;

 private:
  void begin() { kindlb_ = std::make_unique<Kindlb>(world_); }
  void take_over() {
    kindlb_.reset();
    world_.journal.mend();
    begin();
    ++deaths;
  }
  FakeWorld& world_;
  std::unique_ptr<Kindlb> kindlb_;
};

/// A Service comes, changes and goes, and everything is as it should be at each stage.
void live_through(FakeWorld& world, Succession& succession) {
  const auto born = world.add_service();
  REQUIRE(succession.until([&] { return world.serves(); }));
  const auto address = world.address();
  world.kube().edit("default/web", [](Service& service) { service.spec.ports[0].port = 81; });
  REQUIRE(succession.until(
      [&] { return world.serves() && world.service().status.ingress[0].ports[0].port == 81; }));
  CHECK(world.address() == address);
  CHECK_FALSE(world.host.holder_of(born.uid).empty());
  world.kube().remove("default/web");
  REQUIRE(succession.until(
      [&] { return world.gone() && succession.kindlb().fleet().held_units().empty(); }));
  REQUIRE(succession.wait_quiet());
  CHECK(world.host.holder_of(born.uid).empty());
}

}  // namespace

TEST_CASE("a restart finds everything as it was: no write, no container, no address changes") {
  FakeWorld world;
  std::map<std::string, std::string> before;
  std::vector<std::string> proxies;
  {
    Kindlb kindlb(world);
    for (int i = 0; i < 6; ++i) {
      const auto name = "default/s" + std::to_string(i);
      world.add_service(a_service().named(name).with_port(80));
      REQUIRE(kindlb.wait_serving(name));
      before[name] = world.address(name);
    }
    REQUIRE(kindlb.wait_quiet());
    proxies = world.host.ids();
  }
  world.journal.clear();
  world.kube().forget_events();
  Kindlb kindlb(world);
  REQUIRE(kindlb.wait_quiet());
  CHECK(world.writes() == 0);
  CHECK(world.kube().events().empty());
  for (const auto* step : {"create", "remove", "start", "rename", "send", "prepare"})
    CHECK_MESSAGE(world.journal.count(step) == 0, step);
  CHECK(world.host.ids() == proxies);
  for (const auto& [name, address] : before) CHECK(world.address(name) == address);
}

TEST_CASE("kindlb may die after any step, and its successor finishes the work") {
  std::size_t steps = 0;
  {
    FakeWorld world;
    Succession succession(world);
    live_through(world, succession);
    steps = world.journal.size();
    REQUIRE(succession.deaths == 0);
  }
  REQUIRE(steps > 10);
  int deaths = 0;
  for (std::size_t cut = 1; cut < steps; ++cut) {
    CAPTURE(cut);
    FakeWorld world;
    world.journal.cut_after(cut);
    Succession succession(world);
    live_through(world, succession);
    deaths += succession.deaths;
    // Nothing is left but the pool; a warm one more than wanted may have been made by the dead.
    CHECK(world.host.size() >= 1);
    CHECK(world.host.size() <= 3);
    CHECK(world.kube().size() == 0);
  }
  CHECK(deaths > 10);
}

TEST_CASE("orphans go once their cluster has shown its Services, not before") {
  FakeWorld world;
  world.add_cluster("second");
  const auto orphan = world.host.add_warm("kind");
  const auto other = world.host.add_warm("kind");
  const auto foreign = world.host.add_warm("kind");
  world.host.give_unit(orphan, unit_of("u1", "kind/default/gone"));
  world.host.give_unit(other, unit_of("u2", "second/default/gone"));
  world.host.give_unit(foreign, unit_of("u3", "elsewhere/default/web"));
  Kindlb kindlb(world, {.warm_proxies = 1, .unwatched = {"kind", "second"}});
  REQUIRE(kindlb.wait_quiet());
  CHECK(world.journal.count("remove") == 0);
  kindlb.watch("kind");
  REQUIRE(kindlb.wait_until([&] { return world.host.holder_of("u1").empty(); }));
  REQUIRE(kindlb.wait_quiet());
  CHECK(world.host.holder_of("u2") == other);
  kindlb.watch("second");
  REQUIRE(kindlb.wait_until([&] { return world.host.holder_of("u2").empty(); }));
  REQUIRE(kindlb.wait_quiet());
  CHECK(world.host.holder_of("u3") == foreign);
}

TEST_CASE("a proxy is an orphan, too, when its Service is another one by now, or not ours") {
  FakeWorld world;
  const auto proxy = world.host.add_warm("kind");
  std::string unit = "u-former";
  SUBCASE("a namesake") {
    world.add_service();
  }
  SUBCASE("no longer a load balancer") {
    unit = world.add_service(a_service().with_port(80).of_type(core::ServiceType::ClusterIp)).uid;
  }
  world.host.give_unit(proxy, unit_of(unit, "kind/default/web"));
  Kindlb kindlb(world);
  CHECK(kindlb.wait_until([&] { return world.host.holder_of(unit).empty(); }));
}

TEST_CASE("no address is allocated before all Services that have one are seen") {
  FakeWorld world;
  auto& second = world.add_cluster("second");
  {
    Kindlb kindlb(world);
    second.create(a_service().with_port(80).without_selector());
    REQUIRE(kindlb.wait_until([&] { return !second.get("default/web")->status.ingress.empty(); }));
    REQUIRE(kindlb.wait_quiet());
  }
  REQUIRE(second.get("default/web")->status.ingress[0].ip == "172.18.0.254");
  world.host.vanish(world.host.holder_of(second.get("default/web")->uid));
  Kindlb kindlb(world, {.warm_proxies = 1, .unwatched = {"second"}});
  world.add_service();
  REQUIRE(kindlb.wait_quiet());
  CHECK(world.address().empty());
  kindlb.watch("second");
  REQUIRE(kindlb.wait_serving());
  CHECK(world.address() == "172.18.0.253");
  CHECK(second.get("default/web")->status.ingress[0].ip == "172.18.0.254");
}

TEST_CASE("a Service deleted while kindlb was down is released by the next one") {
  FakeWorld world;
  {
    Kindlb kindlb(world);
    world.add_service();
    REQUIRE(kindlb.wait_serving());
  }
  world.kube().remove("default/web");
  CHECK(core::has_finalizer(world.service()));
  Kindlb kindlb(world);
  CHECK(kindlb.wait_gone());
}
