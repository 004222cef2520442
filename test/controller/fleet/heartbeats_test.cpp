#include "fleet/heartbeats.hpp"

#include "controller/fleet/parts_rig.hpp"

#include <algorithm>
#include <set>

using namespace kindlb;
using namespace kindlb::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr milliseconds kInterval{2'000};
const std::string kSuspended = "its agent was stopped by a signal";
const std::string kSilent = "its agent does not answer";

/// One proxy whose agent said Hello, and announced heartbeats, just now.
struct HeartbeatRig : PartsRig {
  HeartbeatRig() {
    start();
    id = add_proxy();
    act([&] { heartbeats.on_hello(id, kInterval); });
  }
  ~HeartbeatRig() { stop(); }

  void hear() {
    act([&] { heartbeats.on_message(id); });
  }
  std::size_t questions() const { return journal.count("inspect"); }
  Calls deaths() {
    Calls out;
    for (auto& call : take_calls())
      if (call.starts_with("dead")) out.push_back(std::move(call));
    return out;
  }

  std::string id;
  controller::Heartbeats heartbeats{
      loop(),
      async,
      roster,
      {.inspected =
           [this](const controller::HostedProxy& found) {
             calls.push_back("inspected " + found.id + (found.paused ? " paused" : ""));
             if (!found.running) heartbeats.forget(found.id);
           },
       .missing = note("missing"),
       .reconnect = note("reconnect"),
       .dead = [this](const std::string& dead,
                      const std::string& why) { calls.push_back("dead " + dead + ": " + why); }}};
};

}  // namespace

TEST_CASE_FIXTURE(HeartbeatRig, "while an agent is heard, the engine is not asked") {
  for (int i = 0; i < 10; ++i) {
    pass(milliseconds(2'900));
    hear();
  }
  CHECK(questions() == 0);
  CHECK(calls.empty());
}

TEST_CASE_FIXTURE(HeartbeatRig, "an agent that was stopped by a signal is dead within 4 s") {
  host.freeze(id, true);
  pass(milliseconds(2'900));
  CHECK(questions() == 0);
  pass(milliseconds(1'000));
  CHECK(questions() == 1);
  CHECK(take_calls() == Calls{"inspected " + id, "dead " + id + ": " + kSuspended});
}

TEST_CASE_FIXTURE(HeartbeatRig, "an agent with nothing wrong to see is dead after 10 s") {
  pass(milliseconds(9'900));
  CHECK(deaths().empty());
  pass(milliseconds(600));
  CHECK(deaths() == Calls{"dead " + id + ": " + kSilent});
}

TEST_CASE_FIXTURE(HeartbeatRig, "its channel is replaced before, once, for the stream may hang") {
  pass(milliseconds(6'000));
  auto seen = take_calls();
  CHECK(std::count(seen.begin(), seen.end(), "reconnect " + id) == 1);
  act([&] { heartbeats.expect_hello(id); });
  SUBCASE("and Hello ends the silence") {
    act([&] { heartbeats.on_hello(id, kInterval); });
    pass(milliseconds(2'900));
    CHECK(take_calls().empty());
  }
  SUBCASE("or it goes on") {
    pass(milliseconds(5'000));
    seen = take_calls();
    CHECK(std::count(seen.begin(), seen.end(), "reconnect " + id) == 0);
    CHECK(seen.back() == "dead " + id + ": " + kSilent);
  }
}

TEST_CASE_FIXTURE(HeartbeatRig, "the silence of the engine is no evidence") {
  host.fail_next("inspect", {core::ErrorKind::Timeout, "inspect", "timed out"}, 100);
  pass(seconds(60));
  CHECK(questions() >= 15);
  CHECK(take_calls().empty());
}

TEST_CASE_FIXTURE(HeartbeatRig, "only silence counts that lasted while the engine answered") {
  host.fail_next("inspect", {core::ErrorKind::Timeout, "inspect", "timed out"}, 4);
  while (questions() < 4) pass(milliseconds(100));
  pass(milliseconds(9'800));
  CHECK(deaths().empty());
  pass(milliseconds(1'200));
  CHECK(deaths().size() >= 1);
}

TEST_CASE_FIXTURE(HeartbeatRig, "an answer that took long is no evidence of silence") {
  host.on_inspecting([this] { pass(milliseconds(2'500)); });
  pass(seconds(60));
  CHECK(deaths().empty());
  SUBCASE("but what it says is true") {
    host.freeze(id, true);
    pass(seconds(10));
    CHECK(deaths().front() == "dead " + id + ": " + kSuspended);
  }
  host.on_inspecting(nullptr);
}

TEST_CASE_FIXTURE(HeartbeatRig, "a loop that was late itself accuses nobody") {
  SUBCASE("once") {
    act([&] { clock.advance(seconds(30)); });
    pass(milliseconds(2'900));
  }
  SUBCASE("again and again") {
    for (int i = 0; i < 20; ++i) act([&] { clock.advance(milliseconds(1'600)); });
  }
  CHECK(questions() == 0);
  pass(milliseconds(1'000));
  CHECK(questions() <= 1);
  CHECK(deaths().empty());
}

TEST_CASE_FIXTURE(HeartbeatRig, "whoever speaks while the engine is asked is alive") {
  host.freeze(id, true);
  host.on_inspecting([this] { hear(); });
  pass(milliseconds(4'000));
  CHECK(questions() == 1);
  CHECK(deaths().empty());
  host.on_inspecting(nullptr);
}

TEST_CASE_FIXTURE(HeartbeatRig, "an agent that announces no heartbeats is never dead by silence") {
  act([&] { heartbeats.on_hello(id, milliseconds(0)); });
  host.freeze(id, true);
  pass(seconds(60));
  CHECK(questions() == 0);
}

TEST_CASE_FIXTURE(HeartbeatRig, "a Hello that does not come") {
  act([&] { heartbeats.forget(id); });
  SUBCASE("from an agent that is stopped") {
    host.freeze(id, true);
    act([&] { heartbeats.expect_hello(id); });
    pass(milliseconds(3'600));
    CHECK(deaths() == Calls{"dead " + id + ": " + kSuspended});
  }
  SUBCASE("from an agent of another build, which may be an old one") {
    act([&] {
      auto old = container(id);
      old.current = false;
      roster.add(old);
      heartbeats.expect_hello(id);
    });
    pass(seconds(60));
    CHECK(questions() == 0);
  }
}

TEST_CASE_FIXTURE(HeartbeatRig, "what the engine says is passed on") {
  SUBCASE("paused, and no event said so") {
    host.on_event(nullptr);
    host.pause(id);
    pass(milliseconds(4'000));
    CHECK(take_calls().front() == "inspected " + id + " paused");
  }
  SUBCASE("stopped") {
    host.die(id);
    pass(seconds(60));
    CHECK(take_calls() == Calls{"inspected " + id});
  }
  SUBCASE("gone") {
    host.vanish(id);
    pass(milliseconds(3'600));
    CHECK(take_calls() == Calls{"missing " + id});
  }
}

TEST_CASE_FIXTURE(HeartbeatRig, "nobody asks about proxies that are paused, removed or forgotten") {
  SUBCASE("paused") {
    act([&] { roster.set_faults(id, {.paused = true}); });
  }
  SUBCASE("being removed") {
    act([&] { roster.set_removing(id); });
  }
  SUBCASE("forgotten") {
    act([&] { heartbeats.forget(id); });
  }
  pass(seconds(60));
  CHECK(questions() == 0);
}

TEST_CASE_FIXTURE(HeartbeatRig, "twenty that freeze at once are all found within 4 s") {
  std::vector<std::string> ids = {id};
  for (int i = 1; i < 20; ++i) {
    ids.push_back(add_proxy());
    act([&] { heartbeats.on_hello(ids.back(), kInterval); });
  }
  for (const auto& one : ids) host.freeze(one, true);
  pass(milliseconds(4'000));
  const auto dead = deaths();
  CHECK(std::set<std::string>(dead.begin(), dead.end()).size() == 20);
}

TEST_CASE_FIXTURE(HeartbeatRig, "no timer runs while nobody is watched") {
  act([&] { heartbeats.forget(id); });
  pass(seconds(1));
  CHECK_FALSE(loop().next_due().has_value());
}
