// What happens to a Service under load must not be noticed by anybody it need not concern: 200 new
// connections a second and ten lasting ones without a failure, and a UDP stream without a loss.
#include "integration/served.hpp"
#include "support/traffic/ask.hpp"
#include "support/traffic/load.hpp"
#include "support/traffic/udp_stream.hpp"

#include <signal.h>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <utility>

namespace {

using namespace kindlb;
using it::mixed_spec;
using it::Served;
using it::shared_stage;
using testing::Load;
using testing::UdpStream;

/// Two backends under load from the start to the end of a test.
class UnderLoad {
 public:
  UnderLoad() : served(shared_stage()) {
    served.add("one");
    served.add("two");
    served.create(mixed_spec(R"(,"ipFamilyPolicy":"SingleStack")"));
    load.emplace(testing::LoadOptions{.target = served.target()});
    stream.emplace(testing::UdpOptions{.target = served.target()});
    go_on();
  }

  /// Whatever comes of what was done has time to come: half a second of load, and each lasting
  /// connection has spoken again.
  void go_on() {
    CHECK(load->go_on(100));
    CHECK(stream->go_on(250));
  }

  enum class Answers { All, ButThoseInFlight };

  /// Every datagram must have reached a backend. Answers may be lost where sessions were picked
  /// anew: those that the former backend had not given yet.
  void finish(Answers answers = Answers::All) {
    go_on();
    const auto tcp = load->finish();
    const auto udp = stream->finish();
    MESSAGE("TCP: " << tcp.text());
    MESSAGE("UDP: " << udp.text());
    CHECK(tcp.failures == std::vector<std::string>{});
    CHECK(served.datagrams() == udp.sent);
    if (answers == Answers::All) CHECK(udp.losses == std::vector<std::string>{});
  }

  bool answers(const std::string& backend) {
    const auto now = load->so_far().answers;
    return now.contains(backend);
  }

  Served served;
  std::optional<Load> load;
  std::optional<UdpStream> stream;
};

/// Until nobody was answered for a fifth of a second.
void await_pause(Load& load) {
  constexpr std::chrono::milliseconds kPause{200};
  std::size_t before = 0;
  std::size_t now = load.so_far().connections;
  for (int i = 0; before != now && i < 100; ++i) {
    std::this_thread::sleep_for(kPause);
    before = std::exchange(now, load.so_far().connections);
  }
  REQUIRE(before == now);
}

constexpr const char* kWithExtra =
    R"({"spec":{"ports":[{"name":"tcp","port":80,"protocol":"TCP"},)"
    R"({"name":"udp","port":80,"protocol":"UDP"},{"name":"extra","port":81}]}})";
constexpr const char* kWithoutExtra =
    R"({"spec":{"ports":[{"name":"tcp","port":80,"protocol":"TCP"},)"
    R"({"name":"udp","port":80,"protocol":"UDP"}]}})";

}  // namespace

TEST_CASE("nobody notices: endpoints come and go") {
  UnderLoad it;
  it.served.add("three");
  shared_stage().until("it is used", [&] { return it.answers("three"); });
  it.go_on();
  CHECK(it.stream->so_far().moves == 0);

  // Gracefully: it goes on with the connections it has.
  it.served.leave("one");
  it.go_on();
  const auto before = it.load->so_far().answers["one"];
  it.served.remove("one");
  it.go_on();
  CHECK(it.load->so_far().answers["one"] == before);
  it.finish(UnderLoad::Answers::ButThoseInFlight);
}

TEST_CASE("nobody notices: a pod is ready before it listens") {
  auto& stage = shared_stage();
  Served served(stage);
  served.add("one");
  served.create(mixed_spec(R"(,"ipFamilyPolicy":"SingleStack")"));
  Load load({.target = served.target()});
  CHECK(load.go_on(100));

  const auto late = testing::Backend(*stage.subnet(core::IpFamily::V4).gateway, "late").target();
  served.place("late", late, "");
  CHECK(load.go_on(100));  // it refuses, the other one accepts
  served.leave("one");     // it refuses, and is alone
  await_pause(load);
  const testing::Backend listening(late.address, "late", late.port);
  CHECK(load.go_on(100));
  const auto tcp = load.finish();
  MESSAGE("TCP: " << tcp.text());
  CHECK(tcp.failures == std::vector<std::string>{});
  CHECK(tcp.answers.contains("late"));
}

TEST_CASE("nobody notices: ports come and go") {
  UnderLoad it;
  it.served.patch(kWithExtra);
  CHECK(testing::ask_tcp(it.served.target(81), "x").ends_with(" x"));
  it.go_on();
  it.served.patch(kWithoutExtra);
  CHECK_FALSE(testing::ask_tcp(it.served.target(81), "x").ends_with(" x"));
  CHECK(it.stream->so_far().moves == 0);
  it.finish();
}

TEST_CASE("nobody notices: source ranges change") {
  UnderLoad it;
  const auto subnet = shared_stage().subnet(core::IpFamily::V4).cidr;
  const auto patch = [&](const std::string& ranges) {
    it.served.patch(fmt::format(R"({{"spec":{{"loadBalancerSourceRanges":[{}]}}}})", ranges));
    it.go_on();
  };
  patch(fmt::format(R"("{}/{}")", subnet.first().text(), subnet.length));
  patch(fmt::format(R"("{}/{}","192.0.2.0/24")", subnet.first().text(), subnet.length));
  patch("");
  CHECK(it.stream->so_far().moves == 0);
  it.finish();
}

TEST_CASE("nobody notices: affinity is switched") {
  UnderLoad it;
  it.served.patch(R"({"spec":{"sessionAffinity":"ClientIP"}})");
  it.go_on();
  it.served.patch(R"({"spec":{"sessionAffinity":"None"}})");
  it.finish();
}

TEST_CASE("nobody notices: kindlb comes and goes") {
  UnderLoad it;
  auto& stage = shared_stage();
  SUBCASE("told to stop") {
    CHECK(stage.stop(SIGTERM) == 0);
  }
  SUBCASE("killed") {
    CHECK(stage.stop(SIGKILL) == 128 + SIGKILL);
  }
  it.go_on();
  stage.start({"--warm-proxies", "2"});
  it.served.add("three");  // it is at work again
  stage.until("a new endpoint is used", [&] { return it.answers("three"); });
  CHECK(it.stream->so_far().moves == 0);
  it.finish();
}
