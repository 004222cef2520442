#pragma once
// A client without a library: it sends any bytes, in any pieces, and shows those that come back.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <string>
#include <string_view>

namespace kindlb::test {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// A connection that says what it likes.
class BareClient {
 public:
  explicit BareClient(int port, int receive_buffer = 0)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer > 0)
      setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  }
  ~BareClient() { close(fd_); }
  BareClient(const BareClient&) = delete;
  BareClient& operator=(const BareClient&) = delete;

  /// False: the server has hung up.
  bool say(std::string_view bytes) const {
    return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0;
  }
  /// Send nothing more; what the server still sends can be read.
  void finish() const { shutdown(fd_, SHUT_WR); }
  /// Everything until the server hangs up, it holds `end`, or the limit; whatever came by then.
  std::string receive(std::string_view end = "", std::chrono::milliseconds limit = 20s) {
    const auto deadline = Clock::now() + limit;
    std::array<char, 64 * 1024> chunk;
    while (Clock::now() < deadline && (end.empty() || received_.find(end) == std::string::npos)) {
      pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
      if (poll(&waiting, 1, 50) <= 0) continue;
      const auto got = recv(fd_, chunk.data(), chunk.size(), 0);
      if (got <= 0) {
        over_ = true;
        break;
      }
      received_.append(chunk.data(), static_cast<std::size_t>(got));
    }
    return received_;
  }
  bool over() const { return over_; }

 private:
  int fd_;
  std::string received_;
  bool over_ = false;
};

}  // namespace kindlb::test
