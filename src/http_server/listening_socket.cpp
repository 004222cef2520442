#include "listening_socket.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace kindlb::http_server {

namespace {
/// A short backlog makes the clients of a burst that exceed it retry their SYN after a second.
constexpr int kBacklog = 1024;

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

AddressList resolve(const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0)
    return {nullptr, freeaddrinfo};
  return {found, freeaddrinfo};
}

/// None, with errno set, if the address is taken or not of this machine.
base::Fd try_listen(const addrinfo& address) {
  base::Fd out(socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, address.ai_protocol));
  // Not SO_REUSEPORT, which would let two servers share a port and its requests.
  const int yes = 1;
  if (!out || setsockopt(out.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      bind(out.get(), address.ai_addr, address.ai_addrlen) != 0 || listen(out.get(), kBacklog) != 0)
    return base::Fd();
  return out;
}

int port_of(int fd) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  // The port is at the same place in the addresses of both families.
  return ntohs(reinterpret_cast<const sockaddr_in&>(bound).sin_port);
}
}  // namespace

core::Result<ListeningSocket> open_listening_socket(const std::string& host, int port) {
  errno = EADDRNOTAVAIL;
  const auto addresses = resolve(host, port);
  for (const auto* address = addresses.get(); address != nullptr; address = address->ai_next)
    if (auto fd = try_listen(*address)) {
      const int bound = port_of(fd.get());
      return ListeningSocket{std::move(fd), bound};
    }
  return core::Error{core::ErrorKind::Unavailable, "listen on " + host + ":" + std::to_string(port),
                     std::strerror(errno)};
}

}  // namespace kindlb::http_server
