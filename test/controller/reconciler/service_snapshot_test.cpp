#include "reconciler/service_snapshot.hpp"

#include "controller/harness.hpp"
#include "kindlb/core/eligibility.hpp"
#include "support/printing.hpp"

using namespace kindlb;
using namespace kindlb::test;
using controller::Clusters;
using Addresses = std::set<core::IpAddress>;

namespace {

core::Service service_of(const std::string& cluster, const std::string& uid) {
  auto out = a_service().named("default/" + uid).with_port(80).build();
  out.key.cluster = cluster;
  out.uid = uid;
  return out;
}

/// u1 and u2 in clusters on the network "kind", u3 in one on another.
struct Neighbours {
  Clusters clusters;

  Neighbours() {
    add("a", "kind", "u1");
    add("b", "kind", "u2");
    add("c", "other", "u3");
  }
  void add(const std::string& cluster, const std::string& network, const std::string& uid) {
    clusters.add(cluster, network, nullptr);
    clusters.find(cluster)->store.put_service(service_of(cluster, uid));
    clusters.record_of(service_of(cluster, uid));
  }
  void reserve(const std::string& uid, const char* address) {
    clusters.find_record(*clusters.key_of(uid))->memory.reserved = {ip(address)};
  }
  void report(const std::string& uid, const char* address, bool ours = true) {
    auto service = *clusters.find_service(*clusters.key_of(uid));
    service.status.ingress = {{.ip = address}};
    if (ours) service.annotations[core::kObservedAnnotation] = core::mark_of(service, "hash");
    clusters.find(service.key.cluster)->store.put_service(service);
  }
  Addresses taken_for(const std::string& uid,
                      const std::map<core::IpAddress, std::string>& held = {}) const {
    return controller::taken_addresses(clusters, "kind", uid, held);
  }
};

}  // namespace

TEST_CASE_FIXTURE(Neighbours, "addresses of other Services on the network are taken") {
  reserve("u1", "172.18.0.254");
  report("u2", "172.18.0.253");
  reserve("u3", "172.18.0.252");
  CHECK(taken_for("u1") == Addresses{ip("172.18.0.253")});
  CHECK(taken_for("u2") == Addresses{ip("172.18.0.254")});
  CHECK(taken_for("u4") == Addresses{ip("172.18.0.253"), ip("172.18.0.254")});
}

TEST_CASE_FIXTURE(Neighbours, "what another provider reported is not taken") {
  report("u2", "172.18.0.253", false);
  CHECK(taken_for("u1").empty());
}

TEST_CASE_FIXTURE(Neighbours, "what proxies hold is taken, but for the Service's own") {
  report("u2", "172.18.0.250");  // stale: u1's proxy has it
  const std::map<core::IpAddress, std::string> held = {{ip("172.18.0.250"), "u1"},
                                                       {ip("172.18.0.251"), "foreign"}};
  CHECK(taken_for("u1", held) == Addresses{ip("172.18.0.251")});
  CHECK(taken_for("u4", held) == Addresses{ip("172.18.0.250"), ip("172.18.0.251")});
}

TEST_CASE("a snapshot has the network's facts, the memory and the time") {
  FakeWorld world;
  LoopThread thread(world.clock);
  controller::Fleet fleet(thread.loop(), thread.engine_work(), world.host, {}, {});
  controller::Networks networks(thread.loop(), thread.engine_work(), world.engine.networks(),
                                [](const std::string&) {});
  thread.start();
  Clusters clusters;
  clusters.add("kind", "kind", nullptr);
  const auto service = service_of("kind", "u1");
  auto& record = clusters.record_of(service);
  record.memory.path.direct = core::DirectPath::Blocked;
  record.since = world.clock.now();
  controller::AddressConflicts conflicts;
  conflicts.note({ip("172.18.0.254")}, world.clock.now());
  core::Policy policy;
  policy.ip_ranges = {*core::AddressRange::parse("172.18.0.77")};
  const auto take = [&] {
    return controller::take_snapshot({.clusters = clusters,
                                      .fleet = fleet,
                                      .networks = networks,
                                      .conflicts = conflicts,
                                      .policy = policy,
                                      .now = world.clock.now() + std::chrono::seconds(2),
                                      .wall_time = at(7),
                                      .may_allocate = true},
                                     *clusters.find("kind"), service, record);
  };
  SUBCASE("of a network that is known") {
    thread.on_loop([&] { networks.refresh("kind"); });
    thread.settle();
    const auto snapshot = take();
    const auto& space = snapshot.network.at(core::IpFamily::V4);
    CHECK(space.subnet == cidr("172.18.0.0/24"));
    CHECK(space.taken == Addresses{ip("172.18.0.1"), ip("172.18.0.254")});
    CHECK(space.pools.size() == 1);
    CHECK_FALSE(snapshot.memory.trouble);
    CHECK(snapshot.memory.path.direct == core::DirectPath::Blocked);
    CHECK(snapshot.age == std::chrono::seconds(2));
    CHECK(snapshot.now == at(7));
    CHECK(snapshot.may_allocate);
    CHECK(snapshot.nodes_running);
  }
  SUBCASE("of one that does not exist") {
    clusters.add("kind", "nowhere", nullptr);
    clusters.find("kind")->nodes_running = false;
    thread.on_loop([&] { networks.refresh("nowhere"); });
    thread.settle();
    const auto snapshot = take();
    CHECK(snapshot.network.empty());
    REQUIRE(snapshot.memory.trouble);
    CHECK(snapshot.memory.trouble->message.starts_with("The docker network cannot be used: "));
    CHECK_FALSE(snapshot.nodes_running);
  }
  thread.stop();
}
