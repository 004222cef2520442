// An Envoy that does not answer: replaced if it is hung, left alone if it is only slow.
#include "agent/it_world.hpp"
#include "support/traffic/sockets.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <thread>

using namespace kindlb;
using namespace kindlb::agent::it;
using protocol::Applied;
using protocol::EnvoyState;
using protocol::Heartbeat;
using protocol::Hello;
using protocol::Status;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

namespace {

bool is_answered(const core::Target& at) {
  const auto socket = testing::dial(SOCK_STREAM, at, milliseconds(200));
  if (!socket) return false;
  const std::string request = "GET / HTTP/1.0\r\n\r\n";
  std::array<char, 512> answer{};
  return ::send(socket.fd(), request.data(), request.size(), MSG_NOSIGNAL) > 0 &&
         ::recv(socket.fd(), answer.data(), answer.size(), 0) > 0;
}

/// For a state that the test itself has made, and that lasts that long.
void let_pass(milliseconds time) {
  const auto until = Clock::now() + time;
  wait_until([&] { return Clock::now() >= until; }, time * 2);
}

/// Connects without a pause while it lives.
class Traffic {
 public:
  explicit Traffic(core::Target at)
      : thread_([this, at](const std::stop_token& stop) {
          while (!stop.stop_requested()) ++(is_answered(at) ? answered_ : failed_);
        }) {}
  unsigned answered() const { return answered_; }

 private:
  std::atomic<unsigned> answered_ = 0;
  std::atomic<unsigned> failed_ = 0;
  std::jthread thread_;
};

/// Processes that want all the time of a processor, for a limited time.
class Burners {
 public:
  Burners(int count, unsigned limit_seconds) {
    for (int i = 0; i < count; ++i) {
      const pid_t pid = ::fork();
      if (pid == 0) {
        ::alarm(limit_seconds);
        for (std::atomic<unsigned> n = 0;; ++n) {
        }
      }
      pids_.push_back(pid);
    }
  }
  ~Burners() {
    for (const pid_t pid : pids_) ::kill(pid, SIGKILL);
    for (const pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
  }
  Burners(const Burners&) = delete;
  Burners& operator=(const Burners&) = delete;

 private:
  std::vector<pid_t> pids_;
};

/// What a proxy with one Service needs.
struct Served {
  Proxy proxy;
  Peer peer{"one"};
  core::Cidr address = World::get().new_address();
  std::unique_ptr<Channel> channel = ready_channel(proxy);

  Served() {
    channel->send(an_apply(1, {.unit = "web", .address = address, .endpoint = backend_of(peer)}));
    channel->expect<Applied>();
  }
  core::Target target() const { return {address.address, 80}; }
  Status expect_live() {
    auto status = channel->expect<Status>();
    while (status.envoy != EnvoyState::Live) status = channel->expect<Status>();
    return status;
  }
};

}  // namespace

TEST_CASE("an agent announces its heartbeats and sends them") {
  const Proxy proxy;
  Channel channel(proxy);
  CHECK(channel.expect<Hello>().heartbeat == protocol::kHeartbeatInterval);
  channel.expect<Heartbeat>(seconds(5));
  channel.expect<Heartbeat>(seconds(5));
}

TEST_CASE("an Envoy that is stopped under traffic is replaced, and answers again") {
  Served served;
  const Traffic traffic(served.target());
  REQUIRE(wait_until([&] { return traffic.answered() > 20; }, seconds(10)));
  for (int round = 0; round < 2; ++round) {
    const auto stopped = Clock::now();
    REQUIRE(::kill(served.proxy.envoy_pid(), SIGSTOP) == 0);
    const auto down = served.channel->expect<Status>();
    const auto noticed = Clock::now() - stopped;
    CHECK(down.envoy == EnvoyState::Down);
    CHECK(down.text.starts_with("Envoy did not answer for "));
    CHECK(down.text.ends_with(" s and was replaced"));
    CHECK(served.expect_live().units.at(0).acknowledged);
    const auto before = traffic.answered();
    CHECK(wait_until([&] { return traffic.answered() > before + 5; }, seconds(5)));
    MESSAGE("noticed after ", std::chrono::duration_cast<milliseconds>(noticed).count(),
            " ms, serving again after ",
            std::chrono::duration_cast<milliseconds>(Clock::now() - stopped).count(), " ms");
    CHECK(noticed < seconds(4));
  }
}

TEST_CASE("an Envoy that stops only for a moment is left alone") {
  const Served served;
  const auto envoy = served.proxy.envoy_pid();
  for (int i = 0; i < 5; ++i) {
    REQUIRE(::kill(envoy, SIGSTOP) == 0);
    let_pass(milliseconds(250));
    REQUIRE(::kill(envoy, SIGCONT) == 0);
    REQUIRE(wait_until([&] { return is_answered(served.target()); }, seconds(5)));
  }
  CHECK(served.proxy.envoy_pid() == envoy);
}

TEST_CASE("a proxy that was paused goes on with the same Envoy") {
  const Served served;
  const auto envoy = served.proxy.envoy_pid();
  must_run({"docker", "pause", served.proxy.name()});
  let_pass(seconds(3));
  must_run({"docker", "unpause", served.proxy.name()});
  CHECK(wait_until([&] { return is_answered(served.target()); }, seconds(5)));
  // Longer than a verdict takes. One heartbeat may be from before.
  for (int i = 0; i < 3; ++i) served.channel->expect<Heartbeat>();
  CHECK(served.proxy.envoy_pid() == envoy);
}

TEST_CASE("on a machine short of processors no Envoy is replaced, unless it is hung") {
  Served served;
  const auto envoy = served.proxy.envoy_pid();
  const unsigned time = std::getenv("KINDLB_FULL") != nullptr ? 55 : 15;
  const Burners burners(20, time + 5);
  const auto until = Clock::now() + seconds(time);
  unsigned answered = 0;
  while (Clock::now() < until) answered += is_answered(served.target()) ? 1U : 0U;
  CHECK(answered > 0);
  CHECK(served.proxy.envoy_pid() == envoy);
  CHECK(served.proxy.logs().find("was replaced") == std::string::npos);
  REQUIRE(::kill(envoy, SIGSTOP) == 0);
  CHECK(served.channel->expect<Status>(seconds(30)).text.starts_with("Envoy did not answer for "));
}
