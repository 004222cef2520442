#include "requests.hpp"

#include "agent/fakes.hpp"
#include "support/fakes/manual_clock.hpp"

#include <doctest/doctest.h>

using namespace kindlb;
using namespace kindlb::agent;
using protocol::RejectStage;
using testing::unit_at;

namespace {

struct RequestsWorld {
  testing::ManualClock clock;
  Loop loop{clock};
  testing::Steps steps;
  Requests requests{
      loop,
      {.answer = [this](ClientId client,
                        const protocol::Message& message) { note_answer(client, message); },
       .timed_out = [this](RequestKey key) { steps.note("timed out " + std::to_string(key)); },
       .refused = [this](const protocol::Unit& unit) { steps.note("refused " + unit.unit); }}};

  RequestKey apply(std::uint64_t id, const std::string& unit) {
    return requests.add(1, protocol::Apply{.id = id, .unit = unit_at(unit, "172.18.0.9")}).key;
  }
  RequestKey release(std::uint64_t id, const std::string& unit) {
    return requests.add(1, protocol::Release{.id = id, .unit = unit}).key;
  }
  RequestKey queued(std::uint64_t id, const std::string& unit) {
    const auto key = apply(id, unit);
    requests.start_announcing(key);
    requests.end_announcing();
    return key;
  }
  void pass(std::chrono::milliseconds time) {
    clock.advance(time);
    loop.run_due();
  }

 private:
  void note_answer(ClientId client, const protocol::Message& message) {
    CHECK(client == 1);
    if (const auto* applied = std::get_if<protocol::Applied>(&message))
      steps.note("applied " + std::to_string(applied->id) + " with " +
                 std::to_string(applied->probes.size()) + " probes");
    if (const auto* rejected = std::get_if<protocol::Rejected>(&message))
      steps.note("rejected " + std::to_string(rejected->id) +
                 (rejected->stage == RejectStage::Superseded ? " superseded" : ""));
  }
};

}  // namespace

TEST_CASE("a request is answered once") {
  RequestsWorld world;
  const auto key = world.apply(5, "web");
  world.requests.reject(key, RejectStage::Address, "taken");
  world.requests.reject(key, RejectStage::Down, "down");
  world.requests.answer_applied(key);
  CHECK(world.steps.take() == "rejected 5");
  world.requests.end(key);
  world.requests.end(key);
  CHECK(world.requests.find(key) == nullptr);
}

TEST_CASE("a newer request for the unit supersedes older ones") {
  RequestsWorld world;
  const auto first = world.apply(1, "web");
  world.apply(2, "dns");
  const auto third = world.apply(3, "web");
  CHECK(world.steps.take() == "rejected 1 superseded");
  CHECK(world.requests.find(first) == nullptr);
  const auto fourth = world.release(4, "web");
  CHECK(world.steps.take() == "rejected 3 superseded");
  CHECK(world.requests.find(third) == nullptr);
  CHECK(world.requests.at(fourth).stage == Request::Stage::Queued);
  world.apply(5, "web");
  CHECK(world.steps.take() == "applied 4 with 0 probes");
}

TEST_CASE("one that Envoy is deciding about stays, answered") {
  RequestsWorld world;
  const auto first = world.queued(1, "web");
  world.requests.start_applying(first);
  world.apply(2, "web");
  CHECK(world.steps.take() == "rejected 1 superseded");
  REQUIRE(world.requests.find(first) != nullptr);

  SUBCASE("accepted") {
    world.requests.await_probes(first);
    world.requests.finish_if_probed(first);
    CHECK(world.steps.take().empty());
  }
  SUBCASE("not accepted, to be tried again") {
    world.requests.requeue_alone(first);
    CHECK(world.steps.take() == "refused web");
  }
  CHECK(world.requests.find(first) == nullptr);
}

TEST_CASE("the deadline counts until an update takes the request, and again when it comes back") {
  RequestsWorld world;
  const auto slow = world.apply(1, "slow");
  const auto taken = world.queued(2, "taken");
  const auto over = world.apply(3, "over");
  world.requests.start_applying(taken);
  world.requests.end(over);
  world.pass(std::chrono::milliseconds(9'999));
  CHECK(world.steps.take().empty());
  world.pass(std::chrono::milliseconds(1));
  CHECK(world.steps.take() == "timed out " + std::to_string(slow));
  world.requests.requeue_alone(taken);
  CHECK(world.requests.at(taken).alone);
  CHECK(world.requests.at(taken).stage == Request::Stage::Queued);
  world.pass(Requests::kTimeout);
  CHECK(world.steps.take() == "timed out " + std::to_string(taken));
}

TEST_CASE(
    "a request that ends while Envoy is deciding was refused, one that it has not seen was not") {
  RequestsWorld world;
  const auto seen = world.queued(1, "seen");
  const auto unseen = world.queued(2, "unseen");
  world.requests.start_applying(seen);
  world.requests.start_applying(unseen);
  world.requests.withdraw(unseen);
  world.requests.end(unseen);
  CHECK(world.steps.take().empty());
  world.requests.end(seen);
  CHECK(world.steps.take() == "refused seen");
}

TEST_CASE("Applied needs both Envoy and the probes") {
  RequestsWorld world;
  const auto key = world.queued(1, "web");
  const std::vector<protocol::ProbeOutcome> outcomes(2);
  SUBCASE("Envoy first") {
    world.requests.start_applying(key);
    world.requests.await_probes(key);
    world.requests.finish_if_probed(key);
    CHECK(world.steps.take().empty());
    world.requests.probed(key, outcomes);
  }
  SUBCASE("probes first") {
    world.requests.probed(key, outcomes);
    world.requests.start_applying(key);
    world.requests.await_probes(key);
    CHECK(world.steps.take().empty());
    world.requests.finish_if_probed(key);
  }
  CHECK(world.steps.take() == "applied 1 with 2 probes");
  CHECK(world.requests.find(key) == nullptr);
  world.requests.probed(key, outcomes);
  CHECK(world.steps.take().empty());
}

TEST_CASE("which requests the network holds, and which wait for an update") {
  RequestsWorld world;
  const auto names = [](const std::vector<const Request*>& requests) {
    std::string out;
    for (const auto* request : requests) out += request->unit.unit + " ";
    return out;
  };
  world.apply(1, "checking");
  const auto probing = world.queued(2, "probing");
  const auto applying = world.queued(3, "applying");
  world.queued(4, "queued");
  world.release(5, "release");
  const auto announcing = world.apply(6, "announcing");
  world.requests.start_announcing(announcing);
  world.requests.start_applying(applying);
  world.requests.await_probes(probing);
  CHECK(names(world.requests.installed()) == "applying queued announcing ");
  CHECK(names(world.requests.queued()) == "queued release ");
  CHECK(world.requests.end_announcing() == std::vector{announcing});
  CHECK(names(world.requests.queued()) == "queued release announcing ");
}
