// UDP rules installed in a network namespace of the test's own.
#include "support/builders.hpp"
#include "support/traffic/ask.hpp"
#include "support/traffic/backend.hpp"
#include "udp/nftables_filter.hpp"

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <doctest/doctest.h>

#include <cerrno>
#include <cstring>

namespace {

using namespace kindlb;
using namespace kindlb::test;
using agent::NftablesFilter;
using testing::Backend;
using namespace std::chrono_literals;

/// Before anything else runs; without privileges in a user namespace.
const bool kAlone = [] {
  if (::unshare(CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  const testing::Socket socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", sizeof(request.ifr_name) - 1);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  return ::ioctl(socket.fd(), SIOCSIFFLAGS, &request) == 0;
}();

constexpr std::uint16_t kPort = 5300;
constexpr std::uint16_t kRedirectPort = 38068;

std::string ask(const core::IpAddress& to, const char* from) {
  return testing::ask_udp({to, kPort}, "x", 200ms, ip(from));
}

core::UdpRule rule(const char* address) {
  core::UdpRule out;
  out.at = {ip(address), kPort};
  return out;
}

core::UdpRule only(core::UdpRule from, const std::vector<std::string>& ranges) {
  from.restricted = true;
  for (const auto& range : ranges) from.allowed.push_back(cidr(range));
  return from;
}

core::UdpRule redirected(core::UdpRule from) {
  from.divert = kRedirectPort;
  return from;
}

void set(NftablesFilter& filter, const std::vector<core::UdpRule>& active,
         const std::vector<core::UdpRule>& idle = {}) {
  const auto done = filter.set({active, idle});
  INFO((done ? std::string() : done.error().text()));
  REQUIRE(done.ok());
}

}  // namespace

TEST_CASE("only datagrams from the ranges come in") {
  REQUIRE(kAlone);
  NftablesFilter filter;
  REQUIRE(filter.is_supported());
  const Backend backend(ip("127.1.0.1"), "a", kPort);
  const Backend neighbour(ip("127.1.0.2"), "b", kPort);
  CHECK(ask(ip("127.1.0.1"), "127.2.0.1") == "a x");

  set(filter, {only(rule("127.1.0.1"), {"127.2.0.0/30", "127.3.0.7/32", "fd00::/8"})});
  CHECK(ask(ip("127.1.0.1"), "127.2.0.0") == "a x");
  CHECK(ask(ip("127.1.0.1"), "127.2.0.3") == "a x");
  CHECK(ask(ip("127.1.0.1"), "127.2.0.4").empty());
  CHECK(ask(ip("127.1.0.1"), "127.3.0.7") == "a x");
  CHECK(ask(ip("127.1.0.1"), "127.3.0.8").empty());
  CHECK(ask(ip("127.1.0.2"), "127.2.0.4") == "b x");
  CHECK(testing::ask_tcp({ip("127.1.0.1"), kPort}, "x", ip("127.2.0.4")) == "a x");

  set(filter, {only(rule("127.1.0.1"), {})});
  CHECK(ask(ip("127.1.0.1"), "127.2.0.0").empty());

  set(filter, {});
  CHECK(ask(ip("127.1.0.1"), "127.2.0.4") == "a x");
}

TEST_CASE("ranges of IPv6") {
  REQUIRE(kAlone);
  NftablesFilter filter;
  REQUIRE(filter.is_supported());
  const Backend backend(ip("::1"), "a", kPort);
  set(filter, {only(rule("::1"), {"::/64"})});
  CHECK(ask(ip("::1"), "::1") == "a x");
  set(filter, {only(rule("::1"), {"127.0.0.0/8", "::2/128"})});
  CHECK(ask(ip("::1"), "::1").empty());
  set(filter, {redirected(only(rule("::1"), {"::1/128"}))});
  const Backend twin(ip("::1"), "twin", kRedirectPort);
  CHECK(ask(ip("::1"), "::1") == "twin x");
}

TEST_CASE("redirected datagrams are answered from the port they were sent to") {
  REQUIRE(kAlone);
  NftablesFilter filter;
  const Backend backend(ip("127.1.0.1"), "plain", kPort);
  const Backend twin(ip("127.1.0.1"), "twin", kRedirectPort);
  set(filter, {redirected(rule("127.1.0.1"))});
  // ask_udp's socket is connected: an answer from another port would not be seen.
  CHECK(ask(ip("127.1.0.1"), "127.2.0.1") == "twin x");
  const auto large = std::string(9'000, 'y');
  CHECK(testing::ask_udp({ip("127.1.0.1"), kPort}, large, 1s, ip("127.2.0.1")) == "twin " + large);
  CHECK(testing::ask_udp({ip("127.1.0.1"), kRedirectPort}, "x", 200ms, ip("127.2.0.1")).empty());

  set(filter, {redirected(only(rule("127.1.0.1"), {"127.2.0.1/32"}))});
  CHECK(ask(ip("127.1.0.1"), "127.2.0.1") == "twin x");
  CHECK(ask(ip("127.1.0.1"), "127.2.0.2").empty());

  set(filter, {});
  CHECK(ask(ip("127.1.0.1"), "127.2.0.1") == "plain x");
}

TEST_CASE("a datagram without a checksum is redirected, too") {
  REQUIRE(kAlone);
  NftablesFilter filter;
  const auto at = ip("127.1.0.1");
  const Backend twin(at, "twin", kRedirectPort);
  const auto client = testing::dial(SOCK_DGRAM, {at, kPort}, 1s, ip("127.2.0.1"));
  const int none = 1;
  REQUIRE(::setsockopt(client.fd(), SOL_SOCKET, SO_NO_CHECK, &none, sizeof(none)) == 0);
  for (const bool restricted : {false, true}) {
    CAPTURE(restricted);
    const auto wanted = redirected(rule("127.1.0.1"));
    set(filter, {restricted ? only(wanted, {"127.2.0.0/24"}) : wanted});
    REQUIRE(::send(client.fd(), "x", 1, 0) == 1);
    char answer[16];
    const auto size = ::recv(client.fd(), answer, sizeof(answer), 0);
    REQUIRE(size > 0);
    CHECK(std::string(answer, static_cast<std::size_t>(size)) == "twin x");
  }
}

TEST_CASE("changing the redirection loses no answer, in either direction") {
  REQUIRE(kAlone);
  NftablesFilter filter;
  const auto at = ip("127.1.0.1");
  const auto plain = testing::bound(SOCK_DGRAM, {at, kPort});
  const auto twin = testing::bound(SOCK_DGRAM, {at, kRedirectPort});
  const auto client = testing::dial(SOCK_DGRAM, {at, kPort}, 1s, ip("127.2.0.1"));
  const auto say = [&] { REQUIRE(::send(client.fd(), "x", 1, 0) == 1); };
  struct Asked {
    sockaddr_storage from{};
    socklen_t size = sizeof(from);
  };
  const auto take = [](const testing::Socket& server) {
    Asked asked;
    char byte = 0;
    REQUIRE(::recvfrom(server.fd(), &byte, 1, 0, reinterpret_cast<sockaddr*>(&asked.from),
                       &asked.size) == 1);
    return asked;
  };
  const auto answered = [&](const testing::Socket& server, Asked& asked) {
    REQUIRE(::sendto(server.fd(), "y", 1, 0, reinterpret_cast<sockaddr*>(&asked.from),
                     asked.size) == 1);
    char byte = 0;
    return ::recv(client.fd(), &byte, 1, 0) == 1;
  };

  say();
  auto first = take(plain);
  set(filter, {redirected(rule("127.1.0.1"))});
  CHECK(answered(plain, first));

  say();
  auto second = take(twin);
  set(filter, {}, {redirected(rule("127.1.0.1"))});
  CHECK(answered(twin, second));
  say();
  auto third = take(plain);
  CHECK(answered(plain, third));
}

TEST_CASE("a thousand ranges") {
  REQUIRE(kAlone);
  NftablesFilter filter;
  const Backend backend(ip("127.1.0.1"), "a", kPort);
  std::vector<std::string> ranges;
  for (unsigned i = 0; i < 1'000; ++i)
    ranges.push_back("10." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".0/24");
  set(filter, {only(rule("127.1.0.1"), ranges)});
  CHECK(ask(ip("127.1.0.1"), "127.2.0.1").empty());
  ranges.emplace_back("127.2.0.1/32");
  set(filter, {only(rule("127.1.0.1"), ranges)});
  CHECK(ask(ip("127.1.0.1"), "127.2.0.1") == "a x");
}

TEST_CASE("rules that another program has deleted are noticed, and installed again") {
  REQUIRE(kAlone);
  NftablesFilter filter;
  CHECK_FALSE(filter.find_changes());
  const Backend backend(ip("127.1.0.1"), "a", kPort);
  const std::vector<core::UdpRule> rules{only(rule("127.1.0.1"), {"127.2.0.0/30"})};
  set(filter, rules);
  CHECK_FALSE(filter.find_changes());
  CHECK(ask(ip("127.1.0.1"), "127.2.0.4").empty());
  const NftablesFilter other;  // removes what it finds in the namespace
  CHECK(ask(ip("127.1.0.1"), "127.2.0.4") == "a x");
  CHECK(filter.find_changes());
  set(filter, rules);
  CHECK(ask(ip("127.1.0.1"), "127.2.0.4").empty());
  CHECK_FALSE(filter.find_changes());
  set(filter, {});
}
