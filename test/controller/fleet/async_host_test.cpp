#include "controller/fleet/parts_rig.hpp"

#include <thread>

using namespace kindlb;
using namespace kindlb::test;

namespace {

struct HostRig : PartsRig {
  HostRig() { start(); }
  ~HostRig() { stop(); }
  auto done(const std::string& name) {
    return [this, name](const core::Result<void>& result) {
      calls.push_back(name + (result.ok() ? "" : ": " + result.error().detail));
    };
  }
};

}  // namespace

TEST_CASE_FIXTURE(HostRig, "what the host answers comes back, on the loop's thread") {
  std::thread::id here;
  std::thread::id there;
  act([&] {
    here = std::this_thread::get_id();
    async.create("kind", [&](core::Result<controller::HostedProxy> result) {
      there = std::this_thread::get_id();
      calls.push_back("created " + result->id);
    });
  });
  CHECK(here == there);
  act([&] {
    async.list([&](core::Result<std::vector<controller::HostedProxy>> result) {
      calls.push_back("listed " + result->front().id);
    });
  });
  CHECK(take_calls() == Calls{"created p1", "listed p1"});
  act([&] { async.rename("p1", "kind/default/u1", "u1", done("renamed")); });
  CHECK(host.name_of("p1") == "kind/default/u1");
  act([&] { async.rename_shared("p1", "kind", 2, done("renamed")); });
  CHECK(host.name_of("p1") == "kindlb-shared-kind-2");
  act([&] { async.connect("p1", done("connected")); });
  CHECK(host.is_connected("p1"));
  host.die("p1");
  act([&] { async.start("p1", done("started")); });
  CHECK(host.is_running("p1"));
  act([&] { async.remove("p1", done("removed")); });
  CHECK(host.size() == 0);
  CHECK(take_calls() == Calls{"renamed", "renamed", "connected", "started", "removed"});
}

TEST_CASE_FIXTURE(HostRig, "so does an error") {
  host.fail_next("create", kImpossible);
  host.fail_next("list", kAway);
  act([&] {
    async.create("kind", [&](core::Result<controller::HostedProxy> result) {
      calls.push_back(result.error().detail);
    });
  });
  act([&] {
    async.list([&](core::Result<std::vector<controller::HostedProxy>> result) {
      calls.push_back(result.error().detail);
    });
  });
  act([&] { async.connect("nowhere", done("connect")); });
  CHECK(take_calls() == Calls{"no space left", "refused", "connect: nowhere"});
}

TEST_CASE_FIXTURE(HostRig, "messages are sent at once") {
  const auto id = host.add_warm("kind");
  act([&] { CHECK_FALSE(async.send(id, protocol::Release{1, "u1"})); });
  act([&] { async.connect(id, done("connected")); });
  act([&] { CHECK(async.send(id, protocol::Release{1, "u1"})); });
  act([&] { async.disconnect(id); });
  CHECK_FALSE(host.is_connected(id));
}
