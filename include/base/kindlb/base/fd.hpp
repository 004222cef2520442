#pragma once
// A file descriptor with exactly one owner, and the one loop that writes to one.

#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

namespace kindlb::base {

/// Close the descriptor when destroyed. Movable, not copyable. Not thread-safe: a descriptor
/// number is reused by the kernel as soon as it is closed, so no other thread may still use get().
class Fd {
 public:
  Fd() = default;
  /// Take ownership. A negative number, as failed system calls return it, is "none".
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  /// The number, still owned by this object; -1 for none.
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  /// Close what is owned, if anything, and own `fd` instead.
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

/// Write everything to a blocking descriptor; continue after signals and partial writes. False if
/// a write fails, with errno set: part of `bytes` may have been written.
/// REQUIRES for pipes and sockets: SIGPIPE is ignored, or a closed peer ends the process.
inline bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto size = ::write(fd, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

}  // namespace kindlb::base
