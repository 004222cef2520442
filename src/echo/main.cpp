// kindlb-echo, the workload of the sandbox: says over HTTP which pod it is and which client asked,
// and returns datagrams. One static program in an image of its own, so it needs only the kernel.
//   GET /hostname   its own name
//   GET /clientip   the address and port the request came from
//   anything else   the request itself, as it came in
//
// A thread per connection, one for datagrams, none of them ever joined: they own what they use, and
// the process ends by a signal. It serves test traffic on a developer's machine: limits protect
// that machine from a runaway client, nothing here is meant for the open Internet.

#include "kindlb/base/fd.hpp"
#include "kindlb/base/number.hpp"
#include "kindlb/base/text.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

namespace {

using kindlb::base::Fd;

constexpr int kBacklog = 128;
constexpr int kMaxConnections = 512;
constexpr std::size_t kMaxRequest = std::size_t{64} << 10U;
constexpr time_t kIdleTimeout = 30;  // seconds

/// The pod's name: kindlb gives it to the container in HOSTNAME, as a kubelet does.
std::string host_name() {
  if (const char* const given = std::getenv("HOSTNAME")) return given;
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// "10.1.2.3:45678", "[fd00::1]:45678". An IPv4 client of the dual-stack socket is shown as IPv4.
std::string text_of(const sockaddr_in6& peer) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const auto port = std::to_string(ntohs(peer.sin6_port));
  if (IN6_IS_ADDR_V4MAPPED(&peer.sin6_addr)) {
    inet_ntop(AF_INET, &peer.sin6_addr.s6_addr[12], text.data(), text.size());
    return std::string(text.data()) + ":" + port;
  }
  inet_ntop(AF_INET6, &peer.sin6_addr, text.data(), text.size());
  return "[" + std::string(text.data()) + "]:" + port;
}

/// Open a socket for both families on every address; exit if the port cannot be had.
Fd listen_on(int type, std::uint16_t port) {
  Fd socket(::socket(AF_INET6, type | SOCK_CLOEXEC, 0));
  const int on = 1;
  const int off = 0;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  if (!socket || bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      (type == SOCK_STREAM && listen(socket.get(), kBacklog) != 0)) {
    std::perror(("kindlb-echo: cannot listen on port " + std::to_string(port)).c_str());
    std::exit(1);
  }
  return socket;
}

std::size_t content_length(std::string_view head) {
  while (!head.empty()) {
    const auto line = head.substr(0, head.find("\r\n"));
    head.remove_prefix(std::min(line.size() + 2, head.size()));
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    if (kindlb::base::lowered(line.substr(0, colon)) != "content-length") continue;
    const auto value = kindlb::base::trimmed(line.substr(colon + 1));
    return kindlb::base::parse_number<std::size_t>(value).value_or(0);
  }
  return 0;
}

std::string answer(std::string_view request, const std::string& client) {
  const auto path_begin = request.find(' ');
  const auto path =
      request.substr(path_begin + 1, request.find(' ', path_begin + 1) - path_begin - 1);
  if (path == "/hostname") return host_name();
  if (path == "/clientip") return client;
  return std::string(request);
}

/// Serve the requests of one connection, one after the other, until the client closes it, stays
/// silent for too long or sends too much. Bytes after a request belong to the next one.
void serve(const Fd& connection, const std::string& client) {
  const timeval timeout{kIdleTimeout, 0};
  setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  std::string buffer;
  std::array<char, std::size_t{16} << 10U> chunk{};
  while (buffer.size() <= kMaxRequest) {
    const auto end = buffer.find("\r\n\r\n");
    if (end != std::string::npos) {
      const auto length = content_length({buffer.data(), end});
      if (length > kMaxRequest) return;
      const auto size = end + 4 + length;
      if (size > kMaxRequest) return;
      if (buffer.size() >= size) {
        const auto body = answer({buffer.data(), size}, client);
        buffer.erase(0, size);
        if (!kindlb::base::write_all(
                connection.get(),
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: " +
                    std::to_string(body.size()) + "\r\n\r\n" + body))
          return;
        continue;
      }
    }
    const auto got = recv(connection.get(), chunk.data(), chunk.size(), 0);
    if (got <= 0) return;
    buffer.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

void accept_forever(const Fd& listener) {
  static std::atomic<int> open{0};
  while (true) {
    sockaddr_in6 peer{};
    socklen_t size = sizeof peer;
    Fd connection(accept4(listener.get(), reinterpret_cast<sockaddr*>(&peer), &size, SOCK_CLOEXEC));
    if (!connection || open >= kMaxConnections) continue;
    ++open;
    std::thread([connection = std::move(connection), client = text_of(peer)]() mutable {
      serve(connection, client);
      connection.reset();  // before it is counted as closed
      --open;
    }).detach();
  }
}

void return_datagrams(const Fd& socket) {
  std::array<char, 65536> datagram{};
  while (true) {
    sockaddr_in6 peer{};
    socklen_t size = sizeof peer;
    const auto got = recvfrom(socket.get(), datagram.data(), datagram.size(), 0,
                              reinterpret_cast<sockaddr*>(&peer), &size);
    if (got >= 0)
      sendto(socket.get(), datagram.data(), static_cast<std::size_t>(got), 0,
             reinterpret_cast<sockaddr*>(&peer), size);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto port = kindlb::base::parse_number<std::uint16_t>(argc > 1 ? argv[1] : "8080");
  if (!port || argc > 2) {
    std::fputs("usage: kindlb-echo [PORT]   (default 8080; TCP and UDP)\n", stderr);
    return 2;
  }
  // As pid 1 of a container it would ignore signals that have no handler.
  for (const int number : {SIGTERM, SIGINT}) std::signal(number, [](int) { _exit(0); });
  std::signal(SIGPIPE, SIG_IGN);  // a client that closes early fails the write, not the process
  const Fd listener = listen_on(SOCK_STREAM, *port);
  std::thread([socket = listen_on(SOCK_DGRAM, *port)] { return_datagrams(socket); }).detach();
  accept_forever(listener);
}
