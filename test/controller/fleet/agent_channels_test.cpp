#include "fleet/agent_channels.hpp"

#include "controller/fleet/parts_rig.hpp"

using namespace kindlb;
using namespace kindlb::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// Channels, and a listener that hands Hello and breaks to them as the fleet does.
struct ChannelRig : PartsRig, controller::ProxyHost::Listener {
  ChannelRig() {
    host.set_listener(this);
    start();
  }
  ~ChannelRig() override {
    host.set_listener(nullptr);
    stop();
  }
  void on_agent_message(const std::string& id, protocol::Message message) override {
    if (!std::holds_alternative<protocol::Hello>(message)) return;
    loop().post([this, id] {
      if (hears_hello && roster.find(id) != nullptr) channels.on_hello(id);
    });
  }
  void on_channel_closed(const std::string& id, const std::string& why) override {
    loop().post([this, id, why] {
      calls.push_back(channels.on_closed(id, why) ? "reopening" : "left closed");
    });
  }
  void open(const std::string& id) {
    act([&] { channels.open(id); });
  }
  /// A release is the smallest message that the journal shows.
  void send_release(const std::string& id, const std::string& unit) {
    act([&] { channels.send(id, unit, protocol::Release{channels.next_request_id(), unit}); });
  }
  std::size_t connects() const { return journal.count("connect"); }

  bool hears_hello = true;
  int hellos_due = 0;
  int refusals = 0;
  controller::AgentChannels channels{loop(),
                                     async,
                                     roster,
                                     {.lost = note("lost"),
                                      .opened = [this](const std::string&) { ++hellos_due; },
                                      .refused = [this](const std::string&) { ++refusals; },
                                      .container_missing = note("missing"),
                                      .doubtful = [this] { calls.push_back("doubtful"); }}};
};

}  // namespace

TEST_CASE_FIXTURE(ChannelRig, "a channel is open after Hello, not before") {
  const auto id = add_proxy();
  hears_hello = false;
  open(id);
  CHECK(host.is_connected(id));
  CHECK_FALSE(channels.is_open(id));
  CHECK_FALSE(channels.is_open("unknown"));
  send_release(id, "u1");
  CHECK(journal.count("release") == 0);
  act([&] { channels.on_hello(id); });
  CHECK(channels.is_open(id));
  send_release(id, "u1");
  CHECK(journal.count("release") == 1);
  open(id);  // again: nothing
  CHECK(connects() == 1);
}

TEST_CASE_FIXTURE(ChannelRig, "no channel is opened to a proxy that cannot be reached") {
  const auto id = add_proxy();
  SUBCASE("it is stopped") {
    act([&] { roster.container_stopped(id); });
  }
  SUBCASE("it is being removed") {
    act([&] { roster.set_removing(id); });
  }
  open(id);
  send_release(id, "u1");
  pass(seconds(60));
  CHECK(connects() == 0);
}

TEST_CASE_FIXTURE(ChannelRig, "an agent that does not say Hello is tried again") {
  const auto id = add_proxy();
  hears_hello = false;
  open(id);
  pass(milliseconds(9'999));
  CHECK(connects() == 1);
  hears_hello = true;
  pass(seconds(1));
  CHECK(connects() == 2);
  CHECK(channels.is_open(id));
}

TEST_CASE_FIXTURE(ChannelRig, "failures are retried ever more slowly, and arouse doubt") {
  const auto id = add_proxy();
  host.fail_next("connect", kAway, 5);
  open(id);
  pass(milliseconds(75));
  CHECK(connects() == 2);
  pass(milliseconds(149));
  CHECK(connects() == 2);
  pass(milliseconds(1));
  CHECK(connects() == 3);
  CHECK(take_calls().empty());
  pass(milliseconds(300));
  CHECK(connects() == 4);
  CHECK(take_calls() == Calls{"doubtful"});
  pass(seconds(5));
  CHECK(connects() == 6);
  CHECK(channels.is_open(id));
  CHECK(take_calls().empty());
}

TEST_CASE_FIXTURE(ChannelRig, "a container that the engine does not know is reported") {
  const auto id = add_proxy();
  host.vanish(id);
  open(id);
  CHECK(take_calls() == Calls{"missing " + id});
  pass(seconds(60));
  CHECK(connects() == 1);
}

TEST_CASE_FIXTURE(ChannelRig, "a channel that broke is opened again, if the proxy still runs") {
  const auto id = add_proxy();
  open(id);
  SUBCASE("it runs") {
    host.break_channel(id);
    pass(milliseconds(100));
    CHECK(take_calls() == Calls{"reopening"});
    CHECK(channels.is_open(id));
  }
  SUBCASE("it has stopped") {
    act([&] { roster.container_stopped(id); });
    host.break_channel(id);
    pass(seconds(60));
    CHECK(take_calls() == Calls{"left closed"});
    CHECK_FALSE(channels.is_open(id));
    act([&] {
      roster.container_started(id);
      channels.on_restart(id);
    });
    CHECK(channels.is_open(id));
  }
}

TEST_CASE_FIXTURE(ChannelRig, "what waits for a channel is the newest message of each unit") {
  const auto id = add_proxy();
  host.fail_next("connect", kAway, 4);
  send_release(id, "u1");
  send_release(id, "u2");
  send_release(id, "u1");
  send_release(id, "u3");
  act([&] { channels.discard_unsent(id, "u3"); });
  act([&] {
    const auto unsent = channels.take_unsent(id);
    REQUIRE(unsent.size() == 2);
    CHECK(std::get<protocol::Release>(unsent.at("u1")).id == 3);
    CHECK(std::get<protocol::Release>(unsent.at("u2")).id == 2);
    CHECK(channels.take_unsent(id).empty());
  });
}

TEST_CASE_FIXTURE(ChannelRig, "a channel that takes nothing more is replaced") {
  const auto id = add_proxy();
  open(id);
  host.block_sends(id);
  send_release(id, "u1");
  CHECK(connects() == 2);
  CHECK(channels.is_open(id));
  CHECK(channels.take_unsent(id).size() == 1);
}

TEST_CASE_FIXTURE(ChannelRig, "a request that is not answered in time ends the channel") {
  const auto id = add_proxy();
  assign(id, "u1");
  open(id);
  act([&] {
    roster.unit("u1")->begin_apply(7, core::Revision::parse("s.d"), {}, false);
    channels.expect_answer("u1", 7, seconds(30));
  });
  SUBCASE("no answer") {
    pass(seconds(29));
    CHECK(connects() == 1);
    pass(seconds(1));
    CHECK(connects() == 2);
    CHECK(take_calls() == Calls{"lost " + id});
  }
  SUBCASE("answered") {
    act([&] { roster.unit("u1")->confirm({7, "u1", "s.d", {}}); });
    pass(seconds(60));
    CHECK(connects() == 1);
  }
  SUBCASE("superseded") {
    act([&] { roster.unit("u1")->begin_apply(8, core::Revision::parse("t.d"), {}, false); });
    pass(seconds(60));
    CHECK(connects() == 1);
  }
  SUBCASE("its unit is gone") {
    act([&] { roster.release("u1"); });
    pass(seconds(60));
    CHECK(connects() == 1);
  }
}

TEST_CASE_FIXTURE(ChannelRig, "channels of adopted proxies are opened one after the other") {
  const std::vector<std::string> ids{add_proxy(), add_proxy(), add_proxy()};
  assign(ids[0], "u1");
  assign(ids[2], "u2");
  act([&] { channels.open_next_adopted(); });
  CHECK(channels.is_open(ids[0]));
  CHECK_FALSE(channels.is_open(ids[2]));
  pass(milliseconds(150));
  CHECK(channels.is_open(ids[2]));
  pass(seconds(60));
  CHECK_FALSE(channels.is_open(ids[1]));  // warm
}

TEST_CASE_FIXTURE(ChannelRig, "a channel to a proxy that is gone meanwhile is closed") {
  const auto id = add_proxy();
  act([&] {
    channels.open(id);
    roster.drop(id);
    channels.forget(id);
  });
  CHECK(connects() == 1);
  CHECK_FALSE(host.is_connected(id));
}
