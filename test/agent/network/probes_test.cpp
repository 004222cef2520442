#include "network/probes.hpp"

#include "agent/wire_support.hpp"
#include "network/socket_address.hpp"

#include <sys/socket.h>

#include <doctest/doctest.h>

#include <optional>

using namespace kindlb;
using namespace kindlb::agent;
using protocol::ProbeResult;
using std::chrono::milliseconds;

namespace {

const auto kLoopback = core::IpAddress::parse("127.0.0.1").value();

/// A bound port that refuses connections until listen().
struct Port {
  base::Fd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t number = 0;

  Port() {
    const SocketAddress any(kLoopback, 0);
    REQUIRE(::bind(socket.get(), any.get(), any.size()) == 0);
    sockaddr_in bound{};
    socklen_t size = sizeof(bound);
    REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &size) == 0);
    number = ntohs(bound.sin_port);
  }
  void listen() { REQUIRE(::listen(socket.get(), 8) == 0); }
  core::Target target() const { return {kLoopback, number}; }
};

std::vector<protocol::ProbeOutcome> outcomes_of(const std::vector<core::Probe>& probes,
                                                milliseconds timeout) {
  testing::ManualClock clock;
  Loop loop(clock);
  ProbeSet probing(loop, probes, timeout, [] {});
  CHECK(advance_until(
      loop, clock, [&] { return probing.is_finished(); }, timeout));
  return probing.outcomes();
}

}  // namespace

TEST_CASE("the first target that accepts is enough") {
  const Port closed;
  Port open;
  open.listen();
  const auto seen = outcomes_of({{"p", {closed.target(), open.target()}}}, std::chrono::seconds(5));
  REQUIRE(seen.size() == 1);
  CHECK(seen[0] == protocol::ProbeOutcome{"p", ProbeResult::Reached, ""});
}

TEST_CASE("a closed port is Refused at the deadline") {
  const Port closed;
  const auto seen = outcomes_of({{"p", {closed.target()}}}, milliseconds(100));
  CHECK(seen[0].result == ProbeResult::Refused);
  CHECK(seen[0].detail == closed.target().text() + ": Connection refused");
}

TEST_CASE("where any answer will do, a refusal is one, at once") {
  testing::ManualClock clock;
  Loop loop(clock);
  const Port closed;
  ProbeSet probing(loop, {{"UDP/53", {closed.target()}, true}}, std::chrono::minutes(5), [] {});
  CHECK(advance_until(
      loop, clock, [&] { return probing.is_finished(); }, milliseconds(50)));
  CHECK(probing.outcomes()[0] == protocol::ProbeOutcome{"UDP/53", ProbeResult::Reached, ""});
}

TEST_CASE("where any answer will do, none is still none") {
  const core::Target nowhere{core::IpAddress::parse("255.255.255.255").value(), 80};
  const auto seen = outcomes_of({{"UDP/53", {nowhere}, true}}, std::chrono::seconds(1));
  CHECK(seen[0].result == ProbeResult::Unreachable);
}

TEST_CASE("a port that opens before the deadline is reached") {
  testing::ManualClock clock;
  Loop loop(clock);
  Port late;
  int calls = 0;
  ProbeSet probing(loop, {{"p", {late.target()}}}, std::chrono::seconds(5), [&] { ++calls; });
  loop.after(milliseconds(60), [&] { late.listen(); });
  CHECK(advance_until(
      loop, clock, [&] { return calls > 0; }, milliseconds(5'000)));
  CHECK(probing.outcomes()[0].result == ProbeResult::Reached);
}

TEST_CASE("without a route a probe fails at once") {
  // The kernel connects to no broadcast address, and sends nothing.
  const core::Target nowhere{core::IpAddress::parse("255.255.255.255").value(), 80};
  const auto seen = outcomes_of({{"p", {nowhere}}, {"none", {}}}, std::chrono::minutes(5));
  CHECK(seen[0].result == ProbeResult::Unreachable);
  CHECK_FALSE(seen[0].detail.empty());
  CHECK(seen[1] ==
        protocol::ProbeOutcome{"none", ProbeResult::Unreachable, "the probe has no target"});
}

TEST_CASE("a destroyed probe leaves nothing on the loop") {
  testing::ManualClock clock;
  Loop loop(clock);
  const Port closed;
  int calls = 0;
  std::optional<ProbeSet> probing;
  probing.emplace(loop, std::vector<core::Probe>{{"p", {closed.target()}}}, milliseconds(10),
                  [&] { ++calls; });
  probing.reset();
  clock.advance(milliseconds(50));
  CHECK_FALSE(loop.run_due());
  CHECK(calls == 0);
}
