#include "liveness/liveness_check.hpp"

#include "agent/wire_support.hpp"
#include "unix_address.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <array>

using namespace kindlb;
using namespace kindlb::agent;
using std::chrono::milliseconds;

namespace {

/// Envoy's listener, and its threads as the test has them.
struct EchoWorld {
  testing::ManualClock clock;
  Loop loop{clock};
  std::string socket = "@kindlb-liveness-test-" + std::to_string(::getpid());
  base::Fd listener;
  base::Fd peer;
  std::vector<Thread> threads{{1, "wrk:worker_0", 'S', 0, 0}};
  int looks = 0;
  std::vector<milliseconds> hangs;
  LivenessCheck check{loop,
                      socket,
                      {.threads =
                           [this] {
                             ++looks;
                             return threads;
                           },
                       .hung = [this](milliseconds waited) { hangs.push_back(waited); }}};

  EchoWorld() { listen(); }
  void listen() {
    const auto address = UnixAddress::parse(socket);
    listener.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    REQUIRE(::bind(listener.get(), address->get(), address->size()) == 0);
    REQUIRE(::listen(listener.get(), 4) == 0);
  }
  /// How many bytes have been asked, without answering.
  std::size_t questions() {
    if (!peer) peer.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK));
    std::array<char, 64> buffer{};
    const auto size = ::recv(peer.get(), buffer.data(), buffer.size(), 0);
    return size > 0 ? static_cast<std::size_t>(size) : 0;
  }
  void answer() {
    REQUIRE(questions() == 1);
    REQUIRE(::send(peer.get(), "?", 1, 0) == 1);
    settle(loop);
  }
  void pass(milliseconds time) {
    advance_until(
        loop, clock, [] { return false; }, time);
  }
};

}  // namespace

TEST_CASE("an Envoy that answers is asked once a second, and its threads are left alone") {
  EchoWorld world;
  world.check.start();
  world.answer();
  for (int i = 0; i < 3; ++i) {
    world.pass(milliseconds(999));
    CHECK(world.questions() == 0);
    world.pass(milliseconds(1));
    world.answer();
  }
  CHECK(world.looks == 0);
  CHECK(world.hangs.empty());
}

TEST_CASE("a hung Envoy is reported within two seconds of its last answer, once") {
  EchoWorld world;
  world.check.start();
  world.answer();
  world.pass(milliseconds(1'799));
  CHECK(world.hangs.empty());
  world.pass(milliseconds(1));
  CHECK(world.hangs == std::vector<milliseconds>{milliseconds(800)});
  world.pass(milliseconds(5'000));
  CHECK(world.hangs.size() == 1);
  CHECK_FALSE(world.loop.run_due());
}

TEST_CASE("one question is asked at a time, while a slow Envoy makes progress") {
  EchoWorld world;
  world.check.start();
  for (int i = 0; i < 20; ++i) {
    world.pass(milliseconds(250));
    ++world.threads[0].switches;
  }
  CHECK(world.hangs.empty());
  world.answer();
  world.pass(milliseconds(1'000));
  world.answer();
}

TEST_CASE("an answer between two looks ends the question") {
  EchoWorld world;
  world.check.start();
  world.pass(milliseconds(799));
  world.answer();
  world.pass(milliseconds(999));
  CHECK(world.hangs.empty());
  CHECK(world.looks == 1);
}

TEST_CASE("a time in which the agent itself was delayed does not count") {
  EchoWorld world;
  world.check.start();
  world.pass(milliseconds(300));
  world.clock.advance(milliseconds(10'000));  // the container was paused
  settle(world.loop);
  CHECK(world.hangs.empty());
  world.pass(milliseconds(499));
  CHECK(world.hangs.empty());
  world.pass(milliseconds(1));
  CHECK(world.hangs.size() == 1);
}

TEST_CASE("a connection that Envoy closes is an answer, and made anew") {
  EchoWorld world;
  world.check.start();
  world.answer();
  world.peer.reset();
  world.pass(milliseconds(1'000));
  world.answer();
  CHECK(world.hangs.empty());
}

TEST_CASE("a missing listener is no hung Envoy, and asked again") {
  EchoWorld world;
  world.listener.reset();
  world.check.start();
  world.pass(milliseconds(5'000));
  CHECK(world.hangs.empty());
  world.listen();
  world.pass(milliseconds(1'000));
  world.answer();
}

TEST_CASE("nothing is asked after Envoy has exited, until it is live again") {
  EchoWorld world;
  world.check.start();
  world.check.stop();
  world.pass(milliseconds(5'000));
  CHECK(world.hangs.empty());
  CHECK(world.questions() == 1);
  world.peer.reset();
  world.check.start();
  world.check.start();
  world.answer();
}
