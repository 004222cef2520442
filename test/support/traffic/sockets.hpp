#pragma once
// Plain sockets of either family, for tests that are clients or backends themselves.

#include "kindlb/core/proxy_config.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace kindlb::testing {

/// Owns a file descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket();
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// An address as the kernel wants it.
class SocketName {
 public:
  explicit SocketName(const core::Target& target);
  const sockaddr* get() const;
  socklen_t size() const { return size_; }
  int family() const { return storage_.ss_family; }

 private:
  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

/// `type` is SOCK_STREAM or SOCK_DGRAM, with flags. An empty socket: errno tells why.
Socket bound(int type, const core::Target& target);
/// Connected, from an address of the caller's choice, with a limit for each call on it.
Socket dial(int type, const core::Target& target, std::chrono::milliseconds limit,
            const std::optional<core::IpAddress>& from = {});
core::Target local_name(const Socket& socket);
core::Target remote_name(const Socket& socket);

/// "connect: Connection refused", from errno.
std::string error_text(const std::string& operation);

}  // namespace kindlb::testing
