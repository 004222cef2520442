#include "kindlb/proxy/channel_hub.hpp"

#include "support/fakes/fake_stream.hpp"

#include <dirent.h>

#include <doctest/doctest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace {

using namespace kindlb;
using proxy::ChannelHub;
using testing::make_stream_pair;

/// Collects what the hub reports; waits for it with a deadline.
class Inbox {
 public:
  ChannelHub::Callbacks callbacks() {
    return {.on_message =
                [this](const std::string& id, protocol::Message message) {
                  note(messages_, {id, std::move(message)});
                },
            .on_closed =
                [this](const std::string& id, const std::string& reason) {
                  note(closed_, {id, reason});
                }};
  }
  bool wait_messages(std::size_t count) { return wait(messages_, count); }
  bool wait_closed(std::size_t count) { return wait(closed_, count); }
  std::vector<std::pair<std::string, protocol::Message>> messages() { return copy(messages_); }
  std::vector<std::pair<std::string, std::string>> closed() { return copy(closed_); }

 private:
  template <typename T>
  void note(std::vector<T>& list, T item) {
    const std::lock_guard lock(mutex_);
    list.push_back(std::move(item));
    wake_.notify_all();
  }
  template <typename T>
  bool wait(const std::vector<T>& list, std::size_t count) {
    std::unique_lock lock(mutex_);
    return wake_.wait_for(lock, std::chrono::seconds(5), [&] { return list.size() >= count; });
  }
  template <typename T>
  std::vector<T> copy(const std::vector<T>& list) {
    const std::lock_guard lock(mutex_);
    return list;
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::pair<std::string, protocol::Message>> messages_;
  std::vector<std::pair<std::string, std::string>> closed_;
};

struct Rig {
  /// Opens a channel and gives the agent's end.
  std::shared_ptr<testing::ProcessEnd> open(const std::string& id) {
    auto pair = make_stream_pair();
    hub.open(id, std::move(pair.stream));
    return pair.process;
  }
  Inbox inbox;
  ChannelHub hub{inbox.callbacks()};
};

std::string bye(const std::string& reason) {
  return protocol::encode(protocol::Bye{reason});
}

std::string reason_of(const protocol::Message& message) {
  const auto* said = std::get_if<protocol::Bye>(&message);
  return said != nullptr ? said->reason : "<not a bye>";
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  DIR* dir = ::opendir("/proc/self/fd");
  while (::readdir(dir) != nullptr) ++count;  // NOLINT(concurrency-mt-unsafe)
  ::closedir(dir);
  return count;
}

}  // namespace

TEST_CASE_FIXTURE(Rig, "messages go both ways, each to its own proxy") {
  const auto a = open("a");
  const auto b = open("b");
  a->print(bye("from a"));
  REQUIRE(inbox.wait_messages(1));
  b->print(bye("from b"));
  REQUIRE(inbox.wait_messages(2));
  const auto got = inbox.messages();
  CHECK(got[0].first == "a");
  CHECK(reason_of(got[0].second) == "from a");
  CHECK(got[1].first == "b");
  CHECK(hub.send("b", protocol::Release{.id = 7, .unit = "u"}));
  const auto line = b->read_line();
  REQUIRE(line);
  const auto release = std::get<protocol::Release>(*protocol::decode(*line));
  CHECK(release.id == 7);
  CHECK(release.unit == "u");
}

TEST_CASE_FIXTURE(Rig, "frames and lines need not coincide") {
  const auto a = open("a");
  const auto text = bye("one") + bye("two") + bye("three");
  for (const char c : text) a->print({&c, 1});
  REQUIRE(inbox.wait_messages(3));
  a->print(text);
  REQUIRE(inbox.wait_messages(6));
  CHECK(reason_of(inbox.messages()[4].second) == "two");
}

TEST_CASE_FIXTURE(Rig, "what is not a message of ours is ignored") {
  const auto a = open("a");
  a->print("not json\n{\"type\":\"from-the-future\"}\n[]\n\n" + bye("after"));
  REQUIRE(inbox.wait_messages(1));
  CHECK(reason_of(inbox.messages()[0].second) == "after");
}

TEST_CASE_FIXTURE(Rig, "the end of a stream is reported once, with its stderr") {
  auto a = open("a");
  a->print_error("kindlb-agent: no such socket\n");
  a.reset();
  REQUIRE(inbox.wait_closed(1));
  CHECK(inbox.closed()[0].first == "a");
  CHECK(inbox.closed()[0].second == "kindlb-agent: no such socket (end of stream)");
  CHECK_FALSE(hub.is_open("a"));
  CHECK_FALSE(hub.send("a", protocol::Bye{}));
}

TEST_CASE_FIXTURE(Rig, "messages before the end are delivered before it") {
  auto a = open("a");
  a->print(bye("last words"));
  a.reset();
  REQUIRE(inbox.wait_closed(1));
  CHECK(inbox.messages().size() == 1);
}

TEST_CASE_FIXTURE(Rig, "a stream that breaks the format is dropped, others go on") {
  const auto a = open("a");
  const auto b = open("b");
  SUBCASE("not Docker's frames") {
    a->send_raw("HTTP/1.1 400 Bad Request\r\n\r\n");
  }
  SUBCASE("a line without end") {
    const std::string piece(1 << 20, 'x');
    for (int i = 0; i < 17 && a->print(piece); ++i) continue;
  }
  REQUIRE(inbox.wait_closed(1));
  CHECK(inbox.closed()[0].first == "a");
  CHECK(a->closed());
  b->print(bye("still here"));
  CHECK(inbox.wait_messages(1));
}

TEST_CASE_FIXTURE(Rig, "an agent that does not read blocks no other and is bounded") {
  const auto stuck = open("stuck");
  const auto lively = open("lively");
  const protocol::Bye large{std::string(256 * 1024, 'x')};
  int accepted = 0;
  while (hub.send("stuck", large)) REQUIRE(++accepted < 64);
  CHECK(accepted >= 15);
  CHECK(hub.send("lively", protocol::Bye{"hello"}));
  CHECK(lively->read_line());
  // Once it reads again, everything that was accepted arrives whole.
  for (int i = 0; i < accepted; ++i) {
    const auto line = stuck->read_line();
    REQUIRE(line);
    CHECK(reason_of(*protocol::decode(*line)) == large.reason);
  }
  CHECK(hub.send("stuck", large));
  CHECK(inbox.closed().empty());
}

TEST_CASE_FIXTURE(Rig, "close is silent and lets the agent know") {
  const auto a = open("a");
  hub.close("a");
  CHECK(a->closed());
  CHECK_FALSE(hub.send("a", protocol::Bye{}));
  hub.close("a");
  const auto b = open("b");
  b->print(bye("x"));
  REQUIRE(inbox.wait_messages(1));
  CHECK(inbox.closed().empty());
}

TEST_CASE_FIXTURE(Rig, "opening again replaces the former stream") {
  const auto old = open("a");
  const auto young = open("a");
  CHECK(old->closed());
  CHECK(hub.send("a", protocol::Bye{"to the young"}));
  CHECK(young->read_line());
  CHECK(inbox.closed().empty());
}

TEST_CASE("callbacks may use the hub") {
  ChannelHub* hub = nullptr;
  Inbox inbox;
  auto callbacks = inbox.callbacks();
  const auto note = callbacks.on_message;
  callbacks.on_message = [&](const std::string& id, protocol::Message message) {
    hub->send(id, protocol::Bye{"answer"});
    if (reason_of(message) == "close me") hub->close(id);
    note(id, std::move(message));
  };
  ChannelHub real(callbacks);
  hub = &real;
  auto pair = make_stream_pair();
  real.open("a", std::move(pair.stream));
  pair.process->print(bye("hello"));
  CHECK(pair.process->read_line());
  pair.process->print(bye("close me") + bye("too late"));
  CHECK(pair.process->closed());
  REQUIRE(inbox.wait_messages(2));
  CHECK(inbox.messages().size() == 2);
}

TEST_CASE("destruction is prompt, with channels open and bytes unsent") {
  const auto before = open_descriptors();
  {
    Inbox inbox;
    auto hub = std::make_unique<ChannelHub>(inbox.callbacks());
    auto pair = make_stream_pair();
    hub->open("a", std::move(pair.stream));
    while (hub->send("a", protocol::Bye{std::string(256 * 1024, 'x')})) continue;
    const auto start = std::chrono::steady_clock::now();
    hub.reset();
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(1));
    CHECK(pair.process->closed());
  }
  CHECK(open_descriptors() == before);
}

TEST_CASE_FIXTURE(Rig, "opened, used and closed from many threads") {
  std::vector<std::jthread> users;
  for (int t = 0; t < 4; ++t)
    users.emplace_back([this, t] {
      for (int i = 0; i < 50; ++i) {
        const auto id = std::to_string(i % 3 == 0 ? t : 9);  // some ids are fought over
        const auto agent = open(id);
        hub.send(id, protocol::Bye{"x"});
        agent->print(bye("y"));
        hub.close(id);
      }
    });
  users.clear();
  CHECK_FALSE(hub.is_open("9"));
}
