// The workload of the sandbox: says over HTTP who it is and who asked, and returns datagrams. One
// static program in an image of its own, so it needs nothing but the kernel.
//   GET /hostname   its own name
//   GET /clientip   the address and port the request came from
//   anything else   the request itself, as it came in

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

namespace {
constexpr int kBacklog = 128;
constexpr int kMaxConnections = 512;
constexpr std::size_t kMaxRequest = 64 * 1024;
constexpr time_t kPatience = 30;  // seconds a client may stay silent

/// The pod's name, which whoever starts the container gives in the environment.
std::string host_name() {
  if (const char* const given = std::getenv("HOSTNAME")) return given;
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// "10.1.2.3:45678", "[fd00::1]:45678"; an IPv4 client of the dual socket is told as IPv4.
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

int listening(int type, int port) {
  const int fd = socket(AF_INET6, type | SOCK_CLOEXEC, 0);
  const int on = 1;
  const int off = 0;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(static_cast<std::uint16_t>(port));
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      (type == SOCK_STREAM && listen(fd, kBacklog) != 0)) {
    std::perror("kindlb-echo: cannot listen");
    std::exit(1);
  }
  return fd;
}

bool send_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto sent = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::size_t content_length(std::string_view head) {
  constexpr std::string_view kName = "content-length:";
  for (std::size_t at = 0; at + kName.size() < head.size(); ++at)
    if (strncasecmp(head.data() + at, kName.data(), kName.size()) == 0)
      return std::strtoul(head.data() + at + kName.size(), nullptr, 10);
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

/// Requests of one connection, one after the other.
void serve(int fd, const std::string& client) {
  const timeval patience{kPatience, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::string buffer;
  std::array<char, 16 * 1024> chunk{};
  while (buffer.size() <= kMaxRequest) {
    const auto end = buffer.find("\r\n\r\n");
    const auto whole =
        end == std::string::npos ? 0 : end + 4 + content_length({buffer.data(), end});
    if (whole > kMaxRequest) break;
    if (whole > 0 && buffer.size() >= whole) {
      const auto body = answer({buffer.data(), whole}, client);
      buffer.erase(0, whole);
      if (!send_all(fd, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: " +
                            std::to_string(body.size()) + "\r\n\r\n" + body))
        break;
      continue;
    }
    const auto got = recv(fd, chunk.data(), chunk.size(), 0);
    if (got <= 0) break;
    buffer.append(chunk.data(), static_cast<std::size_t>(got));
  }
  close(fd);
}

void accept_all(int listener) {
  static std::atomic<int> open{0};
  while (true) {
    sockaddr_in6 peer{};
    socklen_t size = sizeof peer;
    const int fd = accept4(listener, reinterpret_cast<sockaddr*>(&peer), &size, SOCK_CLOEXEC);
    if (fd < 0) continue;
    if (open >= kMaxConnections) {
      close(fd);
      continue;
    }
    ++open;
    std::thread([fd, client = text_of(peer)] {
      serve(fd, client);
      --open;
    }).detach();
  }
}

void return_datagrams(int fd) {
  std::array<char, 65536> datagram{};
  while (true) {
    sockaddr_in6 peer{};
    socklen_t size = sizeof peer;
    const auto got = recvfrom(fd, datagram.data(), datagram.size(), 0,
                              reinterpret_cast<sockaddr*>(&peer), &size);
    if (got >= 0)
      sendto(fd, datagram.data(), static_cast<std::size_t>(got), 0,
             reinterpret_cast<sockaddr*>(&peer), size);
  }
}
}  // namespace

int main(int argc, char** argv) {
  const int port = argc > 1 ? std::atoi(argv[1]) : 8080;
  // Process number one ignores signals it has no handler for.
  for (const int number : {SIGTERM, SIGINT}) signal(number, [](int) { _exit(0); });
  const int listener = listening(SOCK_STREAM, port);
  std::thread([fd = listening(SOCK_DGRAM, port)] { return_datagrams(fd); }).detach();
  accept_all(listener);
}
