// What agent_it puts around a proxy: an HTTP server that answers with its name, and a client that
// keeps its container's neighbour table between two calls. Static, so that it runs in any image.
//   peer serve NAME PORT [ADDRESS/LENGTH]   also holds that address, on the loopback device
//   peer get ADDRESS PORT MILLISECONDS      prints the answer's body; fails after that time

#include "kindlb/base/fd.hpp"
#include "network/netlink.hpp"
#include "network/socket_address.hpp"

#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

using kindlb::agent::SocketAddress;
using kindlb::core::Cidr;
using kindlb::core::IpAddress;

bool hold(const char* text) {
  const auto address = Cidr::parse(text);
  if (!address) return false;
  const kindlb::base::Fd socket(::socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
  const auto request = kindlb::agent::netlink::add_address(1, *address);
  std::array<char, 4096> answer{};
  if (::send(socket.get(), request.data(), request.size(), 0) < 0) return false;
  const auto size = ::recv(socket.get(), answer.data(), answer.size(), 0);
  return size > 0 &&
         kindlb::agent::netlink::parse_ack({answer.data(), static_cast<std::size_t>(size)}) == 0;
}

void answer(int connection, const std::string& name) {
  std::array<char, 4096> request{};
  pollfd polled{connection, POLLIN, 0};
  if (::poll(&polled, 1, 1000) <= 0) return;  // a probe says nothing
  if (::recv(connection, request.data(), request.size(), 0) <= 0) return;
  const std::string text = "HTTP/1.1 200 OK\r\ncontent-length: " + std::to_string(name.size()) +
                           "\r\nconnection: close\r\n\r\n" + name;
  ::send(connection, text.data(), text.size(), MSG_NOSIGNAL);
}

int serve(const std::string& name, int port) {
  const kindlb::base::Fd listener(::socket(AF_INET6, SOCK_STREAM, 0));
  const SocketAddress any(*IpAddress::parse("::"), static_cast<std::uint16_t>(port));
  if (::bind(listener.get(), any.get(), any.size()) != 0 || ::listen(listener.get(), 64) != 0)
    return 1;
  while (true) {
    const kindlb::base::Fd connection(::accept(listener.get(), nullptr, nullptr));
    if (connection) answer(connection.get(), name);
  }
}

int get(const char* text, int port, int milliseconds) {
  const auto address = IpAddress::parse(text);
  if (!address) return 2;
  ::alarm(static_cast<unsigned>(milliseconds / 1000 + 1));
  const bool v4 = address->family() == kindlb::core::IpFamily::V4;
  const kindlb::base::Fd socket(::socket(v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0));
  const SocketAddress to(*address, static_cast<std::uint16_t>(port));
  ::connect(socket.get(), to.get(), to.size());
  pollfd polled{socket.get(), POLLOUT, 0};
  constexpr const char* kRequest = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
  if (::poll(&polled, 1, milliseconds) != 1) return 1;
  if (::send(socket.get(), kRequest, std::char_traits<char>::length(kRequest), MSG_NOSIGNAL) < 0)
    return 1;
  std::array<char, 4096> reply{};
  polled.events = POLLIN;
  if (::poll(&polled, 1, milliseconds) != 1) return 1;
  const auto size = ::recv(socket.get(), reply.data(), reply.size(), 0);
  const std::string all(reply.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  const auto body = all.find("\r\n\r\n");
  if (body == std::string::npos) return 1;
  std::puts(all.c_str() + body + 4);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "serve" && argc >= 4) {
    ::signal(SIGTERM, [](int) { ::_exit(0); });  // the first process has no default action
    if (argc > 4 && !hold(argv[4])) return 1;
    return serve(argv[2], std::atoi(argv[3]));
  }
  if (command == "get" && argc == 5) return get(argv[2], std::atoi(argv[3]), std::atoi(argv[4]));
  return 2;
}
