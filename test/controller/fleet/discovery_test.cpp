#include "fleet/discovery.hpp"

#include "controller/fleet/parts_rig.hpp"

using namespace kindlb;
using namespace kindlb::test;
using std::chrono::seconds;

namespace {

struct DiscoveryRig : PartsRig {
  DiscoveryRig() { start(); }
  ~DiscoveryRig() { stop(); }
  void run() {
    act([&] { discovery.run(); });
  }

  controller::Discovery discovery{
      loop(),
      async,
      roster,
      {.gone = note("gone"),
       .found =
           [this](const controller::HostedProxy& proxy) {
             calls.push_back((discovery.done() ? "found again " : "found ") + proxy.id);
           },
       .finished = [this] { calls.push_back(discovery.done() ? "finished" : "not done"); }}};
};

}  // namespace

TEST_CASE_FIXTURE(DiscoveryRig, "what is missing is told first, then what is there") {
  const auto lost = add_proxy();
  const auto known = add_proxy();
  const auto unknown = host.add_warm("kind");
  host.vanish(lost);
  CHECK_FALSE(discovery.done());
  run();
  CHECK(take_calls() == Calls{"gone " + lost, "found " + known, "found " + unknown, "finished"});
}

TEST_CASE_FIXTURE(DiscoveryRig, "a proxy that came while the engine was asked is not missing") {
  host.on_listing([&] { act([&] { roster.add(container("new")); }); });
  run();
  CHECK(take_calls() == Calls{"finished"});
}

TEST_CASE_FIXTURE(DiscoveryRig, "calls during a listing make one more") {
  act([&] {
    for (int i = 0; i < 5; ++i) discovery.run();
  });
  CHECK(journal.count("list") == 2);
  CHECK(take_calls() == Calls{"finished", "finished"});
  run();
  CHECK(journal.count("list") == 3);
}

TEST_CASE_FIXTURE(DiscoveryRig, "a listing that fails is tried again") {
  host.fail_next("list", kAway, 2);
  run();
  CHECK(take_calls().empty());
  CHECK_FALSE(discovery.done());
  run();  // merged into the retry
  pass(seconds(1));
  CHECK(journal.count("list") == 2);
  pass(seconds(1));
  CHECK(journal.count("list") == 4);
  CHECK(take_calls() == Calls{"finished", "finished"});
}

TEST_CASE_FIXTURE(DiscoveryRig, "of other kindlbs' proxies only the addresses are kept") {
  const auto id = host.add_warm("kind");
  host.give_unit(id, reported("u1"));
  host.assign_to_other_kindlb(id);
  run();
  CHECK(take_calls() == Calls{"finished"});
  CHECK(discovery.foreign_addresses("kind").at(ip("172.18.0.250")) == "u1");
  CHECK(discovery.foreign_addresses("other").empty());
  act([&] { discovery.forget(id); });
  CHECK(discovery.foreign_addresses("kind").empty());
}

TEST_CASE_FIXTURE(DiscoveryRig, "what a killed kindlb left half made is removed after a listing") {
  host.fail_next("list", kAway);
  run();
  CHECK(journal.count("sweep") == 0);
  pass(seconds(1));
  CHECK(journal.count("sweep") == 1);
}
