#include "fleet/agent_messages.hpp"

#include "controller/fleet/parts_rig.hpp"

using namespace kindlb;
using namespace kindlb::test;
using protocol::EnvoyState;
using std::chrono::seconds;

namespace {

/// Agents in memory, and one proxy with the units u1 and u2 on an open channel.
struct MessageRig : PartsRig, controller::ProxyHost::Listener {
  MessageRig() {
    host.set_listener(this);
    start();
    id = add_proxy();
    assign(id, "u1");
    assign(id, "u2");
    act([&] { channels.open(id); });
    take_calls();
    journal.clear();
  }
  ~MessageRig() override {
    host.set_listener(nullptr);
    stop();
  }
  void on_agent_message(const std::string& from, protocol::Message message) override {
    loop().post([this, from, message = std::move(message)] { messages.receive(from, message); });
  }
  void on_channel_closed(const std::string& from, const std::string& why) override {
    loop().post([this, from, why] {
      roster.forget_sent(from);
      channels.on_closed(from, why);
    });
  }

  void receive(const protocol::Message& message) {
    act([&] { messages.receive(id, message); });
  }
  core::Revision apply(const std::string& unit, std::uint16_t port = 80) {
    core::ProxyConfig config{.unit = unit, .owner = {"kind", "default", unit}};
    const auto name = unit + "/TCP/" + std::to_string(port) + "/v4";
    config.listeners = {
        {.name = name, .address = ip("172.18.0.250"), .port = port, .backend = name}};
    config.backends = {{.name = name, .targets = {target("10.244.0.5", 8080)}}};
    const auto revision = core::revision_of(config);
    act([&] { messages.apply(config, revision, {}); });
    return revision;
  }
  void release(const std::string& unit) {
    act([&] { messages.release(unit); });
  }
  std::string holder(const std::string& unit) const {
    const auto* proxy = roster.holder_of(unit);
    return proxy == nullptr ? "none" : proxy->container.id;
  }

  std::string id;
  controller::AgentChannels channels{
      loop(),
      async,
      roster,
      {.lost = [this](const std::string& lost) { roster.forget_sent(lost); },
       .opened = [](const std::string&) {},
       .refused = [](const std::string&) {},
       .container_missing = note("missing"),
       .doubtful = [] {}}};
  controller::AgentMessages messages{roster,
                                     channels,
                                     {.changed = note("changed"),
                                      .unneeded =
                                          [this](const std::string& unneeded) {
                                            calls.push_back("unneeded " + unneeded);
                                            roster.set_removing(unneeded);
                                          },
                                      .warm = [this] { calls.emplace_back("warm"); },
                                      .adopted = [this] { calls.emplace_back("adopted"); }}};
};

}  // namespace

// ---- apply -------------------------------------------------------------------------------------

TEST_CASE_FIXTURE(MessageRig, "an answered apply changes its unit alone") {
  const auto revision = apply("u1");
  CHECK(roster.unit("u1")->view().acknowledged == revision);
  CHECK(take_calls() == Calls{"changed u1"});
  host.reject_next(protocol::RejectStage::Envoy, "duplicate listener");
  apply("u2");
  CHECK(roster.unit("u2")->view().rejection == "duplicate listener");
  CHECK(roster.unit("u1")->view().rejection.empty());
  CHECK(take_calls() == Calls{"changed u2"});
}

TEST_CASE_FIXTURE(MessageRig, "answers of no interest are ignored") {
  receive(protocol::Applied{999, "u1", "old.d", {}});
  receive(protocol::Applied{1, "unknown", "old.d", {}});
  receive(protocol::Rejected{999, "u1", "old.d", protocol::RejectStage::Envoy, "no"});
  receive(protocol::Bye{"stopping"});
  receive(protocol::Release{1, "u1"});
  CHECK(take_calls().empty());
  CHECK(roster.unit("u1")->view().acknowledged.empty());
}

TEST_CASE_FIXTURE(MessageRig, "an unanswered apply ends the channel") {
  host.mute(true);
  apply("u1");
  pass(seconds(29));
  CHECK(journal.count("connect") == 0);
  pass(seconds(1));
  CHECK(journal.count("connect") == 1);
  CHECK(roster.unit("u1")->view().sent.empty());
}

// ---- release -----------------------------------------------------------------------------------

TEST_CASE_FIXTURE(MessageRig, "a unit is released when its agent confirms it") {
  apply("u1");
  take_calls();
  host.mute(true);
  release("u1");
  release("u1");  // again: nothing
  CHECK(journal.count("release") == 1);
  CHECK(holder("u1") == id);
  CHECK(take_calls().empty());
  host.mute(false);
  SUBCASE("asked again on the next channel") {
    host.break_channel(id);
    pass(seconds(1));
    CHECK(journal.count("release") == 2);
  }
  SUBCASE("asked again after a while") {
    pass(seconds(15));
    CHECK(journal.count("release") == 2);
  }
  SUBCASE("its answer was lost") {
    host.forget_unit(id, "u1");
    host.break_channel(id);
    pass(seconds(1));
    CHECK(journal.count("release") == 1);
  }
  CHECK(holder("u1") == "none");
  CHECK(holder("u2") == id);
  CHECK(take_calls().front() == "changed u1");
}

TEST_CASE_FIXTURE(MessageRig, "the last unit goes with its container") {
  host.mute(true);
  release("u1");
  CHECK(journal.count("release") == 1);
  CHECK(take_calls().empty());
  release("u2");
  CHECK(journal.count("release") == 1);
  CHECK(take_calls() == Calls{"unneeded " + id});
  CHECK(holder("u1") == id);  // until the container is gone
}

TEST_CASE_FIXTURE(MessageRig, "a proxy whose last unit was released is unneeded") {
  act([&] { roster.release("u2"); });
  act([&] { roster.unit("u1")->begin_release(77); });
  receive(protocol::Applied{.id = 77, .unit = "u1"});
  CHECK(take_calls() == Calls{"unneeded " + id, "changed u1"});
}

// ---- reports -----------------------------------------------------------------------------------

TEST_CASE_FIXTURE(MessageRig, "Hello says what the agent holds, and brings what it missed") {
  const auto older = apply("u1", 80);
  host.fail_next("connect", kAway, 1);
  host.break_channel(id);
  const auto newer = apply("u1", 81);
  CHECK(roster.unit("u1")->view().acknowledged == older);
  host.limit_watches(id, 10);
  take_calls();
  pass(seconds(1));
  CHECK(roster.unit("u1")->view().acknowledged == newer);
  CHECK(roster.find(id)->capacity == 10);
  CHECK(take_calls() == Calls{"changed u1", "changed u2", "changed u1"});
}

TEST_CASE_FIXTURE(MessageRig, "a proxy without units says Hello") {
  const auto other = add_proxy();
  SUBCASE("it is warm") {
    act([&] { channels.open(other); });
    CHECK(take_calls() == Calls{"warm"});
    CHECK(roster.find(other)->live());
  }
  SUBCASE("it is outdated") {
    auto outdated = container(other);
    outdated.current = false;
    act([&] { roster.add(outdated); });
    act([&] { channels.open(other); });
    CHECK(take_calls() == Calls{"unneeded " + other});
  }
  SUBCASE("it holds units after all") {
    host.give_unit(other, reported("u3"));
    act([&] { channels.open(other); });
    CHECK(take_calls() == Calls{"adopted"});
    CHECK(holder("u3") == other);
  }
}

TEST_CASE_FIXTURE(MessageRig, "a unit that another proxy holds is released") {
  const auto other = add_proxy();
  host.give_unit(other, reported("u1"));
  SUBCASE("by a message") {
    host.give_unit(other, reported("u3"));
    act([&] { channels.open(other); });
    CHECK(journal.count("release " + other + " u1") == 1);
    CHECK(take_calls() == Calls{"adopted"});
  }
  SUBCASE("with the container, if that has no other") {
    act([&] { channels.open(other); });
    CHECK(journal.count("release") == 0);
    CHECK(take_calls() == Calls{"unneeded " + other});
  }
  CHECK(holder("u1") == id);
}

TEST_CASE_FIXTURE(MessageRig, "Status tells of Envoy, and of units only when it is live") {
  const auto revision = apply("u1");
  take_calls();
  receive(protocol::Status{.envoy = EnvoyState::Down, .text = "killed"});
  CHECK(roster.view("u1").trouble == "killed");
  CHECK(roster.view("u1").acknowledged == revision);
  CHECK(take_calls() == Calls{"changed u1", "changed u2"});
  receive(protocol::Status{.envoy = EnvoyState::Live, .units = {reported("u2")}});
  CHECK(roster.view("u1").live);
  CHECK(roster.view("u1").trouble.empty());
  CHECK(roster.view("u1").acknowledged.empty());
  CHECK(roster.view("u2").acknowledged.text() == "s.d");
  CHECK(take_calls() == Calls{"changed u1", "changed u2"});
}
