#pragma once
// A connected UDP socket: a client of one peer. Connecting sends nothing, but makes the kernel
// choose the route, report ICMP errors ("connection refused") and drop datagrams of other senders.
// Not thread-safe.

#include "kindlb/base/fd.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kindlb::base {

class UdpSocket {
 public:
  /// Connect to an IPv4 or IPv6 address, as text without brackets. On failure the socket is false.
  UdpSocket(const std::string& address, std::uint16_t port);

  explicit operator bool() const { return static_cast<bool>(fd_); }

  /// Return the source address that the kernel chose, which tells the network that datagrams take.
  std::optional<std::string> source() const;

  /// Send one datagram and return the first that comes back within `limit`. Late answers to earlier
  /// datagrams are discarded first. Nothing on failure, with errno set; ETIMEDOUT: no answer.
  std::optional<std::string> exchange(std::string_view payload,
                                      std::chrono::milliseconds limit) const;

 private:
  Fd fd_;
};

}  // namespace kindlb::base
