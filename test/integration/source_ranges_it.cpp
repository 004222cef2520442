// loadBalancerSourceRanges: who is in them is served, who is not is not, and a change touches
// nobody who may stay.
#include "integration/clients.hpp"
#include "integration/served.hpp"
#include "support/traffic/ask.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace {

using namespace kindlb;
using core::IpAddress;
using core::IpFamily;
using it::mixed_spec;
using it::Served;
using it::shared_stage;
using namespace std::chrono_literals;

std::string ranges_field(const std::vector<std::string>& ranges) {
  std::string out;
  for (const auto& range : ranges) out += (out.empty() ? "\"" : ",\"") + range + "\"";
  return fmt::format(R"("loadBalancerSourceRanges":[{}])", out);
}

std::string only(const IpAddress& address) {
  return core::Cidr::host(address).text();
}

bool tcp_admits(const core::Target& target, const IpAddress& from) {
  return testing::ask_tcp(target, "x", from, 2s).ends_with(" x");
}

bool udp_admits(const core::Target& target, const IpAddress& from) {
  return !testing::ask_udp(target, "x", 300ms, from).empty();
}

}  // namespace

TEST_CASE("only clients of the ranges are served, on either protocol and family") {
  Served served(shared_stage());
  const it::Clients clients(shared_stage(), 2);
  served.add("four", IpFamily::V4);
  served.add("six", IpFamily::V6);
  served.create(
      mixed_spec(it::kDualStack +
                 ("," + ranges_field({only(clients.v4(0)), " " + only(clients.v6(0)) + " "}))));
  const auto v4 = served.target(80, IpFamily::V4);
  const auto v6 = served.target(80, IpFamily::V6);
  CHECK(tcp_admits(v4, clients.v4(0)));
  CHECK(tcp_admits(v6, clients.v6(0)));
  CHECK(udp_admits(v4, clients.v4(0)));
  CHECK(udp_admits(v6, clients.v6(0)));
  CHECK_FALSE(tcp_admits(v4, clients.v4(1)));
  CHECK_FALSE(tcp_admits(v6, clients.v6(1)));
  CHECK_FALSE(udp_admits(v4, clients.v4(1)));
  CHECK_FALSE(udp_admits(v6, clients.v6(1)));
}

TEST_CASE("a family without a range admits nobody") {
  Served served(shared_stage());
  const it::Clients clients(shared_stage(), 1);
  served.add("four", IpFamily::V4);
  served.add("six", IpFamily::V6);
  served.create(mixed_spec(it::kDualStack + ("," + ranges_field({only(clients.v4(0))}))));
  CHECK(tcp_admits(served.target(80, IpFamily::V4), clients.v4(0)));
  CHECK_FALSE(tcp_admits(served.target(80, IpFamily::V6), clients.v6(0)));
  CHECK_FALSE(udp_admits(served.target(80, IpFamily::V6), clients.v6(0)));
}

TEST_CASE("ranges change under connections that may stay") {
  Served served(shared_stage());
  const it::Clients clients(shared_stage(), 3);
  served.add("one");
  served.create(mixed_spec("," + ranges_field({only(clients.v4(0)), only(clients.v4(1))})));
  const auto target = served.target();
  const auto lasting = testing::dial(SOCK_STREAM, target, 5s, clients.v4(0));
  const auto session = testing::dial(SOCK_DGRAM, target, 2s, clients.v4(0));
  REQUIRE(lasting);
  REQUIRE(session);
  const auto works = [](const testing::Socket& socket) {
    std::array<char, 5> answer;
    return ::send(socket.fd(), "x", 1, MSG_NOSIGNAL) == 1 &&
           ::recv(socket.fd(), answer.data(), answer.size(), MSG_WAITALL) == 5;
  };
  REQUIRE(works(lasting));
  REQUIRE(works(session));
  CHECK(tcp_admits(target, clients.v4(1)));
  CHECK_FALSE(tcp_admits(target, clients.v4(2)));

  const auto patch = [&](const std::vector<std::string>& ranges) {
    served.patch(fmt::format(R"({{"spec":{{{}}}}})", ranges_field(ranges)));
  };
  patch({only(clients.v4(0)), only(clients.v4(2))});
  CHECK_FALSE(tcp_admits(target, clients.v4(1)));
  CHECK_FALSE(udp_admits(target, clients.v4(1)));
  CHECK(tcp_admits(target, clients.v4(2)));
  CHECK(udp_admits(target, clients.v4(2)));
  CHECK(works(lasting));
  CHECK(works(session));

  patch({});
  CHECK(tcp_admits(target, clients.v4(1)));
  CHECK(udp_admits(target, clients.v4(1)));
  CHECK(works(lasting));
  CHECK(works(session));
}
