#include "kindlb/http_server/transport.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace kindlb::http_server {

namespace {
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using State = Wire::Moved::State;

/// A client that takes nothing for this long is given up, as is one that takes this long for all.
constexpr auto kNoProgress = 10s;
constexpr auto kLongest = 60s;

class PlainWire final : public Wire {
 public:
  explicit PlainWire(int socket) : socket_(socket) {
    fcntl(socket_, F_SETFL, fcntl(socket_, F_GETFL) | O_NONBLOCK);
    const int yes = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  }
  ~PlainWire() override { close(socket_); }
  PlainWire(const PlainWire&) = delete;
  PlainWire& operator=(const PlainWire&) = delete;

  int fd() const override { return socket_; }
  Moved receive(char* into, std::size_t size) override {
    return moved(recv(socket_, into, size, 0), false);
  }
  Moved transmit(std::string_view bytes) override {
    return moved(send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL), true);
  }
  void finish() override { shutdown(socket_, SHUT_WR); }

 private:
  static Moved moved(ssize_t result, bool zero_is_nothing) {
    if (result > 0) return {State::Some, static_cast<std::size_t>(result)};
    if (result == 0) return {zero_is_nothing ? State::Nothing : State::Over, 0};
    const bool later = errno == EAGAIN || errno == EINTR;
    return {later ? State::Nothing : State::Over, 0};
  }

  int socket_;
};
}  // namespace

std::unique_ptr<Wire> make_plain_wire(int socket) {
  return std::make_unique<PlainWire>(socket);
}

bool send_all(Wire& wire, std::string_view bytes, const std::stop_token& stop) {
  const auto end = Clock::now() + kLongest;
  auto patience = Clock::now() + kNoProgress;
  while (!bytes.empty()) {
    const auto moved = wire.transmit(bytes);
    if (moved.state == State::Over) return false;
    if (moved.state == State::Some) {
      bytes.remove_prefix(moved.bytes);
      patience = Clock::now() + kNoProgress;
    }
    if (Clock::now() > std::min(patience, end) || stop.stop_requested()) return bytes.empty();
    if (moved.state == State::Some) continue;
    pollfd waiting{.fd = wire.fd(), .events = POLLOUT, .revents = 0};
    poll(&waiting, 1, static_cast<int>(kStopCheck / 1ms));
  }
  return true;
}

bool is_open(const Wire& wire) {
  pollfd state{.fd = wire.fd(), .events = POLLRDHUP, .revents = 0};
  return poll(&state, 1, 0) == 0;
}

}  // namespace kindlb::http_server
