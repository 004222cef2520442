// UDP through a load balancer, next to TCP on the same port.
#include "integration/served.hpp"
#include "support/traffic/ask.hpp"
#include "support/traffic/udp_stream.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

namespace {

using namespace kindlb;
using it::mixed_spec;
using it::Served;
using it::shared_stage;
using testing::ask_tcp;
using testing::ask_udp;
using testing::UdpStream;
using namespace std::chrono_literals;

std::set<std::string> homes(const testing::UdpReport& report) {
  return {report.homes.begin(), report.homes.end()};
}

}  // namespace

TEST_CASE("TCP and UDP share a port number") {
  Served served(shared_stage());
  served.add("one");
  const auto service = served.create(mixed_spec());
  CHECK(ask_udp(served.target(), "hello") == "one hello");  // the very first datagram
  CHECK(ask_tcp(served.target(), "hello") == "one hello");
  REQUIRE(service.status.ingress.size() == 1);
  CHECK(
      service.status.ingress[0].ports ==
      std::vector<core::PortStatus>{{80, core::Protocol::Tcp, ""}, {80, core::Protocol::Udp, ""}});
}

TEST_CASE("datagrams of any size pass both ways") {
  Served served(shared_stage());
  served.add("one");
  served.create(mixed_spec());
  for (const std::size_t size : {1UL, 1'472UL, 1'473UL, 4'096UL, 9'000UL, 32'000UL, 65'000UL}) {
    CAPTURE(size);
    const std::string question(size, 'x');
    CHECK(ask_udp(served.target(), question).size() == size + 4);
  }
}

TEST_CASE("more sessions than Envoy's default allows") {
  constexpr std::size_t kSessions = 1'500;
  Served served(shared_stage());
  served.add("one");
  served.create(mixed_spec());
  std::vector<testing::Socket> sessions;
  std::size_t answered = 0;
  for (std::size_t i = 0; i < kSessions; ++i) {
    const auto& socket = sessions.emplace_back(testing::dial(SOCK_DGRAM, served.target(), 2s));
    REQUIRE(socket);
    std::array<char, 16> answer;
    REQUIRE(::send(socket.fd(), "x", 1, 0) == 1);
    if (::recv(socket.fd(), answer.data(), answer.size(), 0) == 5) ++answered;
    if (answered <= i) break;  // each failure costs two seconds
  }
  CHECK(answered == kSessions);
}

TEST_CASE("sessions stay when a backend comes, and move when theirs goes") {
  Served served(shared_stage());
  auto& stage = shared_stage();
  served.add("one");
  served.add("two");
  served.create(mixed_spec());
  UdpStream stream({.target = served.target(), .sessions = 12});
  REQUIRE(stream.go_on(100));
  CHECK(homes(stream.so_far()) == std::set<std::string>{"one", "two"});

  served.add("three");
  std::size_t asked = 0;
  stage.until("new sessions reach it", [&] {
    ++asked;
    return ask_udp(served.target(), "x").starts_with("three");
  });
  REQUIRE(stream.go_on(100));
  CHECK(stream.so_far().moves == 0);

  served.remove("one");
  stage.until("its sessions have moved", [&] { return !homes(stream.so_far()).contains("one"); });
  REQUIRE(stream.go_on(100));
  const auto report = stream.finish();
  INFO(report.text());
  CHECK(report.moves == 6);  // those that were at "one", once each
  // Only answers that "one" had not given yet are lost.
  CHECK(served.datagrams() == report.sent + asked);
}

TEST_CASE("nothing is forwarded while there is nobody, and all of it once there is") {
  Served served(shared_stage());
  served.create(mixed_spec());
  CHECK(ask_udp(served.target(), "anybody?", 200ms).empty());
  served.add("one");
  shared_stage().until("it answers",
                       [&] { return ask_udp(served.target(), "hello", 200ms) == "one hello"; });
}
