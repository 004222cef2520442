#include "fleet/supervision.hpp"

#include "controller/fleet/parts_rig.hpp"

using namespace kindlb;
using namespace kindlb::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

struct SupervisionRig : PartsRig {
  SupervisionRig() {
    start();
    id = add_proxy();
    assign(id, "u1");
    host.on_event([this](const std::string& action, const std::string& about) {
      if (action == "pause" || action == "unpause")
        act([&] { supervision.container_paused(about, action == "pause"); });
      if (action == "connect" || action == "disconnect")
        act([&] { supervision.network_changed(about, action == "connect"); });
    });
  }
  ~SupervisionRig() { stop(); }
  std::string text() { return roster.find(id)->faults.text(); }

  std::string id;
  controller::Supervision supervision{loop(),
                                      async,
                                      roster,
                                      {.changed = note("changed"),
                                       .replace = note("replace"),
                                       .stopped = note("stopped"),
                                       .missing = note("missing"),
                                       .reachable = note("reachable"),
                                       .reconnect = note("reconnect"),
                                       .doubtful = [this] { calls.emplace_back("doubtful"); }}};
};

}  // namespace

TEST_CASE_FIXTURE(SupervisionRig, "a paused proxy is told at once and given up later") {
  host.pause(id);
  CHECK(text() == "its container is paused");
  CHECK(take_calls() == Calls{"changed " + id});
  SUBCASE("nobody unpauses it") {
    pass(seconds(2));
    CHECK(take_calls() == Calls{"replace " + id});
  }
  SUBCASE("somebody does in time") {
    pass(seconds(1));
    host.unpause(id);
    CHECK(take_calls() == Calls{"changed " + id, "reachable " + id});
    pass(seconds(60));
    CHECK(calls.empty());
  }
}

TEST_CASE_FIXTURE(SupervisionRig, "the engine is asked what a disconnected network means") {
  SUBCASE("the proxy is cut off") {
    host.disconnect_network(id);
    CHECK(text() == "its container is disconnected from its network");
    CHECK(take_calls() == Calls{"changed " + id});
    SUBCASE("until it is connected again") {
      host.connect_network(id);
      CHECK(take_calls() == Calls{"changed " + id});
      CHECK(text().empty());
    }
    SUBCASE("for good") {
      pass(seconds(2));
      CHECK(take_calls() == Calls{"replace " + id});
    }
  }
  SUBCASE("its container was about to stop") {
    host.die(id);
    act([&] { supervision.network_changed(id, false); });
    CHECK(take_calls() == Calls{"stopped " + id});
  }
  SUBCASE("it was removed") {
    host.vanish(id);
    act([&] { supervision.network_changed(id, false); });
    CHECK(take_calls() == Calls{"missing " + id});
  }
  SUBCASE("the engine does not answer: a listing will tell") {
    host.fail_next("inspect", kAway);
    host.disconnect_network(id);
    CHECK(take_calls() == Calls{"doubtful"});
    CHECK(text().empty());
  }
}

TEST_CASE_FIXTURE(SupervisionRig,
                  "connecting a network is no reason to ask, unless one is missing") {
  act([&] {
    supervision.network_changed(id, true);
    supervision.network_changed("unknown", false);
  });
  CHECK(journal.count("inspect") == 0);
}

TEST_CASE_FIXTURE(SupervisionRig, "a listing shows what events did not") {
  auto found = container(id);
  SUBCASE("paused") {
    found.paused = true;
  }
  SUBCASE("disconnected") {
    found.attached = false;
  }
  act([&] { supervision.observe(found); });
  CHECK(take_calls() == Calls{"changed " + id});
  act([&] { supervision.observe(found); });
  CHECK(calls.empty());
  act([&] { supervision.observe(container(id)); });
  CHECK(text().empty());
}

TEST_CASE_FIXTURE(SupervisionRig, "what the agent cannot restore is a fault until it can") {
  act([&] {
    supervision.on_message(id, protocol::Status{.network_problem = "the interface is gone"});
  });
  CHECK(text() == "the interface is gone");
  CHECK(take_calls() == Calls{"changed " + id});
  SUBCASE("a heartbeat does not change it") {
    act([&] { supervision.on_message(id, protocol::Heartbeat{}); });
    CHECK(calls.empty());
    pass(seconds(2));
    CHECK(take_calls() == Calls{"replace " + id});
  }
  SUBCASE("restored in time") {
    act([&] { supervision.on_message(id, protocol::Status{}); });
    CHECK(take_calls() == Calls{"changed " + id});
    pass(seconds(60));
    CHECK(calls.empty());
  }
}

TEST_CASE_FIXTURE(SupervisionRig, "an agent that was silent and speaks again is well") {
  act([&] {
    supervision.on_message(id, protocol::Hello{.heartbeat = protocol::kHeartbeatInterval});
    roster.set_faults(id, {.silence = "its agent does not answer"});
    supervision.on_message(id, protocol::Heartbeat{});
  });
  CHECK(text().empty());
  CHECK(take_calls() == Calls{"changed " + id});
}

TEST_CASE_FIXTURE(SupervisionRig, "a proxy that is stopped or being removed has no new faults") {
  SUBCASE("stopped") {
    act([&] { roster.container_stopped(id); });
  }
  SUBCASE("being removed") {
    act([&] { roster.set_removing(id); });
  }
  host.pause(id);
  host.disconnect_network(id);
  CHECK(calls.empty());
  CHECK(text().empty());
}
