#include "support/traffic/sockets.hpp"

#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace kindlb::testing {

namespace {

core::Target target_from(const sockaddr_storage& name) {
  std::array<std::uint8_t, 16> bytes{};
  if (name.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &name, sizeof v4);
    std::memcpy(bytes.data(), &v4.sin_addr, sizeof v4.sin_addr);
    return {core::IpAddress::from_bytes(core::IpFamily::V4, bytes), ntohs(v4.sin_port)};
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, &name, sizeof v6);
  std::memcpy(bytes.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
  return {core::IpAddress::from_bytes(core::IpFamily::V6, bytes), ntohs(v6.sin6_port)};
}

template <typename Call>
core::Target name_by(Call call, int fd) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (call(fd, reinterpret_cast<sockaddr*>(&name), &size) != 0) return {};  // NOLINT
  return target_from(name);
}

void set_limit(int fd, std::chrono::milliseconds limit) {
  const timeval value{.tv_sec = limit.count() / 1000, .tv_usec = limit.count() % 1000 * 1000};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &value, sizeof value);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &value, sizeof value);
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) ::close(fd_);
}

SocketName::SocketName(const core::Target& target) {
  const auto& bytes = target.address.bytes();
  if (target.address.family() == core::IpFamily::V4) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(target.port);
    std::memcpy(&v4.sin_addr, bytes.data(), sizeof v4.sin_addr);
    std::memcpy(&storage_, &v4, size_ = sizeof v4);
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(target.port);
    std::memcpy(&v6.sin6_addr, bytes.data(), sizeof v6.sin6_addr);
    std::memcpy(&storage_, &v6, size_ = sizeof v6);
  }
}

const sockaddr* SocketName::get() const {
  return reinterpret_cast<const sockaddr*>(&storage_);  // NOLINT
}

Socket bound(int type, const core::Target& target) {
  const SocketName name(target);
  Socket out(::socket(name.family(), type | SOCK_CLOEXEC, 0));
  const int on = 1;
  if ((type & SOCK_STREAM) == SOCK_STREAM)
    ::setsockopt(out.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  return ::bind(out.fd(), name.get(), name.size()) == 0 ? std::move(out) : Socket();
}

Socket dial(int type, const core::Target& target, std::chrono::milliseconds limit,
            const std::optional<core::IpAddress>& from) {
  const SocketName name(target);
  auto out =
      from ? bound(type, {*from, 0}) : Socket(::socket(name.family(), type | SOCK_CLOEXEC, 0));
  if (!out) return {};
  set_limit(out.fd(), limit);
  return ::connect(out.fd(), name.get(), name.size()) == 0 ? std::move(out) : Socket();
}

core::Target local_name(const Socket& socket) {
  return name_by(::getsockname, socket.fd());
}

core::Target remote_name(const Socket& socket) {
  return name_by(::getpeername, socket.fd());
}

std::string error_text(const std::string& operation) {
  return operation + ": " + std::strerror(errno);  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace kindlb::testing
