#include "kindlb/base/udp_socket.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <memory>

namespace kindlb::base {

namespace {

/// A peer that never stops sending must not keep exchange() busy.
constexpr int kMaxLateAnswers = 64;
constexpr std::size_t kMaxDatagram = 2048;

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

/// Parse without asking a name server. Null: not an address.
AddressList parse_peer(const std::string& address, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const auto service = std::to_string(port);
  if (getaddrinfo(address.c_str(), service.c_str(), &hints, &found) != 0) found = nullptr;
  return {found, freeaddrinfo};
}

}  // namespace

UdpSocket::UdpSocket(const std::string& address, std::uint16_t port) {
  const auto peer = parse_peer(address, port);
  if (!peer) return;
  Fd fd(::socket(peer->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (fd && ::connect(fd.get(), peer->ai_addr, peer->ai_addrlen) == 0) fd_ = std::move(fd);
}

std::optional<std::string> UdpSocket::source() const {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  auto* const own = reinterpret_cast<sockaddr*>(&name);
  std::array<char, NI_MAXHOST> text{};
  if (::getsockname(fd_.get(), own, &size) != 0 ||
      getnameinfo(own, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0)
    return std::nullopt;
  const std::string address(text.data());
  return address.substr(0, address.find('%'));  // a link-local address names its interface
}

std::optional<std::string> UdpSocket::exchange(std::string_view payload,
                                               std::chrono::milliseconds limit) const {
  std::array<char, kMaxDatagram> answer{};
  for (int late = 0; late < kMaxLateAnswers; ++late)
    if (::recv(fd_.get(), answer.data(), answer.size(), MSG_DONTWAIT) < 0) break;
  if (::send(fd_.get(), payload.data(), payload.size(), MSG_NOSIGNAL) < 0) return std::nullopt;
  pollfd ready{.fd = fd_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&ready, 1, static_cast<int>(limit.count())) <= 0) {
    errno = ETIMEDOUT;
    return std::nullopt;
  }
  const auto size = ::recv(fd_.get(), answer.data(), answer.size(), MSG_DONTWAIT);
  if (size < 0) return std::nullopt;
  return std::string(answer.data(), static_cast<std::size_t>(size));
}

}  // namespace kindlb::base
