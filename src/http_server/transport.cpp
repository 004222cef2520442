#include "transport.hpp"

#include "kindlb/base/fd.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace kindlb::http_server {

namespace {
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kNoProgress = 10s;   ///< a client that reads nothing for this long is given up
constexpr auto kMaxSendTime = 60s;  ///< as is one that needs longer than this for one response

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(int socket) : socket_(socket) {
    fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
    const int yes = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  }

  int fd() const override { return socket_.get(); }
  IoResult receive(char* into, std::size_t size) override {
    return to_result(recv(socket_.get(), into, size, 0), IoState::Closed);
  }
  IoResult transmit(std::string_view bytes) override {
    return to_result(send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
                     IoState::WouldBlock);
  }
  void finish() override { shutdown(socket_.get(), SHUT_WR); }

 private:
  static IoResult to_result(ssize_t result, IoState at_zero) {
    if (result > 0) return {IoState::Transferred, static_cast<std::size_t>(result)};
    if (result == 0) return {at_zero, 0};
    const bool retry = errno == EAGAIN || errno == EINTR;
    return {retry ? IoState::WouldBlock : IoState::Closed, 0};
  }

  base::Fd socket_;
};
}  // namespace

std::unique_ptr<Transport> make_plain_transport(int socket) {
  return std::make_unique<PlainTransport>(socket);
}

bool send_all(Transport& transport, std::string_view bytes, const std::stop_token& stop) {
  const auto end = Clock::now() + kMaxSendTime;
  auto progress_by = Clock::now() + kNoProgress;
  while (!bytes.empty()) {
    const auto sent = transport.transmit(bytes);
    if (sent.state == IoState::Closed) return false;
    if (sent.state == IoState::Transferred) {
      bytes.remove_prefix(sent.bytes);
      progress_by = Clock::now() + kNoProgress;
    }
    if (Clock::now() > std::min(progress_by, end) || stop.stop_requested()) return bytes.empty();
    if (sent.state == IoState::Transferred) continue;
    pollfd waiting{.fd = transport.fd(), .events = POLLOUT, .revents = 0};
    poll(&waiting, 1, static_cast<int>(kStopCheck / 1ms));
  }
  return true;
}

bool is_open(const Transport& transport) {
  pollfd state{.fd = transport.fd(), .events = POLLRDHUP, .revents = 0};
  return poll(&state, 1, 0) == 0;
}

}  // namespace kindlb::http_server
