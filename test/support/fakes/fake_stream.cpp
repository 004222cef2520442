#include "support/fakes/fake_stream.hpp"

#include "kindlb/core/assert.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace kindlb::testing {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

namespace {

bool wait_for(int fd, short what, Clock::time_point deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
  pollfd waiting{.fd = fd, .events = what, .revents = 0};
  return ::poll(&waiting, 1, left > 0 ? static_cast<int>(left) : 0) > 0;
}

bool send_all(int fd, std::string_view bytes, Clock::time_point deadline) {
  while (!bytes.empty()) {
    const auto sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0)
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    else if (errno != EAGAIN || !wait_for(fd, POLLOUT, deadline))
      return false;
  }
  return true;
}

class SocketDuplex final : public http::Duplex {
 public:
  explicit SocketDuplex(int fd) : fd_(fd) {}
  ~SocketDuplex() override { ::close(fd_); }
  SocketDuplex(const SocketDuplex&) = delete;
  SocketDuplex& operator=(const SocketDuplex&) = delete;

  int fd() const override { return fd_; }

  core::Result<std::size_t> read(std::span<char> into) override {
    const auto got = ::recv(fd_, into.data(), into.size(), MSG_DONTWAIT);
    if (got > 0) return static_cast<std::size_t>(got);
    if (got < 0 && errno == EAGAIN) return std::size_t{0};
    const char* why = got == 0 ? "end of stream" : std::strerror(errno);  // NOLINT
    return core::Error{core::ErrorKind::Unavailable, "read", why};
  }

  core::Result<void> write(std::string_view bytes, milliseconds timeout) override {
    if (send_all(fd_, bytes, Clock::now() + timeout)) return {};
    const bool slow = errno == EAGAIN;
    return core::Error{slow ? core::ErrorKind::Timeout : core::ErrorKind::Unavailable, "write",
                       "the other end does not take it"};
  }

 private:
  int fd_;
};

}  // namespace

ProcessEnd::~ProcessEnd() {
  ::close(fd_);
}

bool ProcessEnd::send_frame(char stream, std::string_view text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  std::string frame = {stream, 0, 0, 0};
  for (unsigned shift : {24U, 16U, 8U, 0U}) frame += static_cast<char>(size >> shift);
  return send_raw(frame.append(text));
}

bool ProcessEnd::print(std::string_view text) {
  return send_frame(1, text);
}

bool ProcessEnd::print_error(std::string_view text) {
  return send_frame(2, text);
}

bool ProcessEnd::send_raw(std::string_view bytes) {
  return send_all(fd_, bytes, Clock::now() + std::chrono::seconds(5));
}

bool ProcessEnd::fill(Clock::time_point deadline) {
  std::array<char, 4096> buffer;
  if (!wait_for(fd_, POLLIN, deadline)) return false;
  const auto got = ::recv(fd_, buffer.data(), buffer.size(), 0);
  if (got > 0) pending_.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0;
}

std::optional<std::string> ProcessEnd::read_line(milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  auto newline = pending_.find('\n');
  while (newline == std::string::npos) {
    if (!fill(deadline)) return std::nullopt;
    newline = pending_.find('\n');
  }
  auto line = pending_.substr(0, newline);
  pending_.erase(0, newline + 1);
  return line;
}

bool ProcessEnd::closed(milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  while (fill(deadline)) continue;
  char byte = 0;
  const auto got = ::recv(fd_, &byte, 1, MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN);
}

void ProcessEnd::shrink_buffers() {
  const int bytes = 4096;
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

StreamPair make_stream_pair() {
  std::array<int, 2> ends{};
  KINDLB_ASSERT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  return {std::make_unique<SocketDuplex>(ends[0]), std::make_shared<ProcessEnd>(ends[1])};
}

}  // namespace kindlb::testing
