#pragma once
// An IP address and port as the socket calls want them: sockaddr_in or sockaddr_in6.

#include "kindlb/core/ip.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

namespace kindlb::agent {

class SocketAddress {
 public:
  SocketAddress(const core::IpAddress& address, std::uint16_t port) {
    if (address.family() == core::IpFamily::V4) {
      v4_.sin_family = AF_INET;
      v4_.sin_port = htons(port);
      std::memcpy(&v4_.sin_addr, address.bytes().data(), sizeof(v4_.sin_addr));
      is_v4_ = true;
    } else {
      v6_.sin6_family = AF_INET6;
      v6_.sin6_port = htons(port);
      std::memcpy(&v6_.sin6_addr, address.bytes().data(), sizeof(v6_.sin6_addr));
    }
  }

  const sockaddr* get() const {
    return is_v4_ ? reinterpret_cast<const sockaddr*>(&v4_)
                  : reinterpret_cast<const sockaddr*>(&v6_);
  }
  socklen_t size() const { return is_v4_ ? sizeof(v4_) : sizeof(v6_); }

 private:
  sockaddr_in v4_{};
  sockaddr_in6 v6_{};
  bool is_v4_ = false;
};

}  // namespace kindlb::agent
