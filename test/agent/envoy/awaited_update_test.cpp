#include "envoy/awaited_update.hpp"

#include "agent/fakes.hpp"
#include "support/fakes/manual_clock.hpp"

#include <doctest/doctest.h>

using namespace kindlb;
using namespace kindlb::agent;
using testing::kAcked;
using testing::kPendingAck;
using testing::nacked;

namespace {

std::string keys_text(const std::vector<RequestKey>& keys) {
  std::string out;
  for (const auto key : keys) out += " " + std::to_string(key);
  return out;
}

struct UpdateWorld {
  testing::ManualClock clock;
  Loop loop{clock};
  testing::Steps steps;
  testing::FakeAcks acks{steps};
  AwaitedUpdate update{
      loop,
      acks,
      {.accepted = [this](const auto& keys) { steps.note("accepted" + keys_text(keys)); },
       .decided =
           [this](const AwaitedUpdate::Update& over, const AckStatuses&) {
             CHECK_FALSE(update.is_pending());
             steps.note("decided" + keys_text(over.requests));
           },
       .timed_out =
           [this](const AwaitedUpdate::Update& over, const AckStatuses& statuses) {
             CHECK_FALSE(update.is_pending());
             steps.note("timed out" + keys_text(over.requests) + " of " +
                        std::to_string(statuses.size()));
           }}};
  Request a = request(1, "a");
  Request b = request(2, "b");

  static Request request(RequestKey key, const std::string& unit) {
    Request out;
    out.key = key;
    out.unit = testing::unit_at(unit, "172.18.0.9");
    return out;
  }
  std::string pass(std::chrono::milliseconds time) {
    clock.advance(time);
    loop.run_due();
    return steps.take();
  }
};

}  // namespace

TEST_CASE("requests are accepted one by one, and the rest when all is decided") {
  UpdateWorld world;
  world.update.await_requests({&world.a, &world.b}, true);
  CHECK(world.update.is_pending());
  CHECK(world.steps.take() == "await a@r1 b@r1");
  world.acks.report({{"a", kPendingAck}, {"b", kPendingAck}});
  CHECK(world.steps.take().empty());
  world.acks.report({{"a", kAcked}, {"b", kPendingAck}});
  CHECK(world.steps.take() == "accepted 1");
  world.acks.report({{"a", kAcked}, {"b", kPendingAck}});
  CHECK(world.steps.take().empty());
  world.acks.report({{"a", kAcked}, {"b", nacked()}});
  CHECK(world.steps.take() == "decided 2");
  CHECK(world.pass(AwaitedUpdate::kAckTimeout).empty());
}

TEST_CASE("a Release waits with the others, but Envoy has nothing to say about it") {
  UpdateWorld world;
  world.b.kind = Request::Kind::Release;
  world.update.await_requests({&world.a, &world.b}, true);
  CHECK(world.steps.take() == "await a@r1");
  world.acks.report({{"a", kAcked}});
  CHECK(world.steps.take() == "decided 1 2");
}

TEST_CASE("counters are compared with those before the files were written") {
  UpdateWorld world;
  world.acks.stats.lds.rejected = 3;
  SUBCASE("changed") {
    world.update.await_requests({&world.a}, true);
    CHECK(world.acks.before.lds.rejected == 3);
  }
  SUBCASE("unchanged: they will not move") {
    world.update.await_requests({&world.a}, false);
    CHECK(world.acks.before.lds.rejected == 0);
  }
  SUBCASE("a rollback") {
    world.update.await_rollback();
    CHECK(world.acks.before.lds.rejected == 3);
  }
  SUBCASE("a new Envoy counts from zero") {
    world.update.await_start({});
    CHECK(world.acks.before.lds.rejected == 0);
  }
}

TEST_CASE("without a decision an update times out, with what is known") {
  UpdateWorld world;
  world.update.await_requests({&world.a, &world.b}, true);
  world.acks.report({{"a", kAcked}, {"b", kPendingAck}});
  world.steps.take();
  CHECK(world.pass(std::chrono::milliseconds(9'999)).empty());
  CHECK(world.pass(std::chrono::milliseconds(1)) == "timed out 2 of 2");
  CHECK_FALSE(world.acks.is_running());
}

TEST_CASE("a rollback times out sooner") {
  UpdateWorld world;
  world.update.await_rollback();
  CHECK(world.steps.take() == "await rollback");
  CHECK(world.pass(std::chrono::milliseconds(1'999)).empty());
  CHECK(world.pass(std::chrono::milliseconds(1)) == "timed out of 0");
}

TEST_CASE("a start is awaited as long as Envoy is not live") {
  UpdateWorld world;
  world.update.await_start({world.a.unit});
  CHECK(world.steps.take() == "await a@r1");
  CHECK(world.pass(AwaitedUpdate::kAckTimeout).empty());
  CHECK(world.update.is_pending());
  world.acks.stats.live = true;
  CHECK(world.pass(AwaitedUpdate::kAckTimeout) == "timed out of 0");
}

TEST_CASE("when Envoy exits, the requests are handed back and nothing is known any more") {
  UpdateWorld world;
  world.update.await_requests({&world.a, &world.b}, true);
  world.acks.stats.live = true;
  CHECK(world.update.abandon() == std::vector<RequestKey>{1, 2});
  CHECK_FALSE(world.update.is_pending());
  CHECK_FALSE(world.acks.is_running());
  CHECK_FALSE(world.acks.stats.live);
  CHECK(world.update.abandon().empty());
  world.steps.take();
  CHECK(world.pass(AwaitedUpdate::kAckTimeout).empty());
}
