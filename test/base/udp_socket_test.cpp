#include "kindlb/base/udp_socket.hpp"

#include "kindlb/base/errno_text.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <doctest/doctest.h>

#include <cstring>

using namespace kindlb;
using namespace std::chrono_literals;

namespace {

/// A peer on loopback that answers when the test says so.
class Peer {
 public:
  Peer() : fd_(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in6 name{};
    name.sin6_family = AF_INET6;
    name.sin6_addr = in6addr_loopback;
    socklen_t size = sizeof name;
    REQUIRE(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&name), size) == 0);
    REQUIRE(::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&name), &size) == 0);
    port_ = ntohs(name.sin6_port);
  }

  std::uint16_t port() const { return port_; }

  /// Receive one datagram and send these back.
  void answer(std::initializer_list<std::string_view> answers) {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    char byte = 0;
    auto* const client = reinterpret_cast<sockaddr*>(&from);
    REQUIRE(::recvfrom(fd_.get(), &byte, 1, 0, client, &size) >= 0);
    for (const auto one : answers)
      REQUIRE(::sendto(fd_.get(), one.data(), one.size(), 0, client, size) >= 0);
  }

 private:
  base::Fd fd_;
  std::uint16_t port_ = 0;
};

}  // namespace

TEST_CASE("late answers are not taken for the answer to the next datagram") {
  Peer peer;
  const base::UdpSocket client("::1", peer.port());
  REQUIRE(client);
  CHECK_FALSE(client.exchange("a", 0ms).has_value());
  CHECK(errno == ETIMEDOUT);
  peer.answer({"late", "later"});
  // Loopback delivers at once: both are in the socket's buffer now and must be dropped.
  CHECK_FALSE(client.exchange("b", 0ms).has_value());
  CHECK(errno == ETIMEDOUT);
}

TEST_CASE("the source address is the one that the kernel chose") {
  CHECK(base::UdpSocket("127.0.0.1", 9).source() == "127.0.0.1");
  CHECK(base::UdpSocket("::1", 9).source() == "::1");
}

TEST_CASE("a closed port is reported by the kernel, not by a timeout") {
  std::uint16_t closed = 0;
  {
    const Peer peer;
    closed = peer.port();
  }
  const base::UdpSocket client("::1", closed);
  REQUIRE(client);
  CHECK_FALSE(client.exchange("a", 5s).has_value());
  CHECK(errno == ECONNREFUSED);
  CHECK(base::errno_text() == "Connection refused");
}

TEST_CASE("names are not resolved") {
  const base::UdpSocket client("localhost", 9);
  CHECK_FALSE(client);
  CHECK_FALSE(client.source().has_value());
  CHECK_FALSE(client.exchange("a", 0ms).has_value());
}
