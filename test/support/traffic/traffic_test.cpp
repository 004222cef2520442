// The clients that must notice everything: shown what they would have to report.
#include "support/traffic/ask.hpp"
#include "support/traffic/backend.hpp"
#include "support/traffic/load.hpp"
#include "support/traffic/udp_stream.hpp"

#include <doctest/doctest.h>

namespace {

using namespace kindlb;
using namespace kindlb::testing;
using namespace std::chrono_literals;

const auto kLoopback = *core::IpAddress::parse("127.0.0.1");
const auto kLoopbackV6 = *core::IpAddress::parse("::1");

}  // namespace

TEST_CASE("a backend answers with its name, over TCP and UDP on one port") {
  for (const auto& address : {kLoopback, kLoopbackV6}) {
    CAPTURE(address.text());
    const Backend backend(address, "one");
    CHECK(ask_tcp(backend.target(), "hello") == "one hello");
    CHECK(ask_udp(backend.target(), "hello") == "one hello");
    CHECK(backend.connections() == 1);
    CHECK(backend.datagrams() == 1);
  }
}

TEST_CASE("steady load against a backend that stays") {
  const Backend backend(kLoopback, "one");
  Load load({.target = backend.target(), .per_second = 400, .lasting = 3});
  CHECK(load.go_on(50));
  const auto report = load.finish();
  CHECK(report.failures.empty());
  CHECK(report.answers.at("one") == report.connections);
  CHECK(report.exchanges >= 3);
}

TEST_CASE("steady load notices a backend that goes") {
  auto backend = std::make_unique<Backend>(kLoopback, "one");
  Load load({.target = backend->target(), .per_second = 400, .lasting = 3});
  CHECK(load.go_on(20));
  backend.reset();
  CHECK_FALSE(load.go_on(1, 100ms));
  const auto report = load.finish();
  std::size_t lasting = 0;
  std::size_t refused = 0;
  for (const auto& failure : report.failures) {
    lasting += failure.find("lasting") != std::string::npos ? 1U : 0U;
    refused += failure.find("new: connect: Connection refused") != std::string::npos ? 1U : 0U;
  }
  CHECK(lasting == 3);
  CHECK(refused > 0);
}

TEST_CASE("a UDP stream counts what is lost and who answers") {
  auto backend = std::make_unique<Backend>(kLoopback, "one");
  const auto target = backend->target();
  UdpStream stream({.target = target, .sessions = 2, .per_second = 500});
  CHECK(stream.go_on(20));
  CHECK(stream.so_far().moves == 0);
  backend.reset();
  CHECK_FALSE(stream.go_on(50, 100ms));
  backend = std::make_unique<Backend>(kLoopback, "two", target.port);
  CHECK(stream.go_on(20));
  const auto report = stream.finish();
  CHECK(report.homes == std::vector<std::string>{"two", "two"});
  CHECK(report.moves == 2);
  CHECK(report.losses.size() > 10);
  CHECK(report.answered + report.losses.size() == report.sent);
}
