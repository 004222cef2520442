#pragma once
// The address of a unix-domain socket as the socket calls want it.

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>

namespace kindlb::agent {

class UnixAddress {
 public:
  /// Parse a path, or "@name" for a name in the abstract namespace of unix(7): it belongs to the
  /// network namespace, so it needs no writable file system. Nothing if the name is empty or too
  /// long for a sockaddr_un.
  static std::optional<UnixAddress> parse(std::string_view name) {
    UnixAddress out;
    if (name.empty() || name.size() >= sizeof(out.address_.sun_path)) return std::nullopt;
    out.address_.sun_family = AF_UNIX;
    std::memcpy(out.address_.sun_path, name.data(), name.size());
    if (name.front() == '@') out.address_.sun_path[0] = '\0';
    // An abstract name has no terminator: every byte counts, so the length must be exact. A path is
    // terminated by the zero after it, which the kernel adds if the length leaves it out.
    out.size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    return out;
  }

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t size() const { return size_; }

 private:
  sockaddr_un address_{};
  socklen_t size_ = 0;
};

}  // namespace kindlb::agent
