#include "support/tcp.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace kindlb::testing {

namespace {

constexpr int kStopCheckMs = 50;

/// IPv4 only: so are the tests that use it.
sockaddr_in socket_address(const core::Target& target) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(target.port);
  std::memcpy(&out.sin_addr, target.address.bytes().data(), sizeof out.sin_addr);
  return out;
}

template <typename Call>
bool with_address(const sockaddr_in& address, Call call) {
  sockaddr_storage storage{};
  std::memcpy(&storage, &address, sizeof address);
  return call(reinterpret_cast<const sockaddr*>(&storage), sizeof address) == 0;  // NOLINT
}

std::string error_text(const std::string& operation) {
  return operation + ": " + std::strerror(errno);  // NOLINT(concurrency-mt-unsafe)
}

std::string exchange(int fd) {
  const std::string request = "GET / HTTP/1.0\r\n\r\n";
  if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) < 0) return error_text("send");
  std::string answer;
  std::array<char, 1024> buffer;
  ssize_t got = 0;
  while ((got = ::recv(fd, buffer.data(), buffer.size(), 0)) > 0)
    answer.append(buffer.data(), static_cast<std::size_t>(got));
  const auto body = answer.find("\r\n\r\n");
  if (body != std::string::npos) return answer.substr(body + 4);
  return got < 0 ? error_text("recv") : "closed";
}

}  // namespace

OneAnswer::OneAnswer(const core::IpAddress& address, std::string body, std::uint16_t port)
    : body_(std::move(body)), target_{address, port}, fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
  const auto bound = with_address(socket_address(target_), [&](const sockaddr* a, socklen_t size) {
    return ::bind(fd_, a, size);
  });
  REQUIRE_MESSAGE(bound, error_text("bind"));
  REQUIRE(::listen(fd_, 64) == 0);
  sockaddr_in chosen{};
  socklen_t size = sizeof chosen;
  REQUIRE(::getsockname(fd_, reinterpret_cast<sockaddr*>(&chosen), &size) == 0);  // NOLINT
  target_.port = ntohs(chosen.sin_port);
  thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
}

OneAnswer::~OneAnswer() {
  thread_.request_stop();
  thread_.join();
  ::close(fd_);
}

void OneAnswer::serve(const std::stop_token& stop) const {
  const auto answer = "HTTP/1.0 200 OK\r\nConnection: close\r\n\r\n" + body_;
  while (!stop.stop_requested()) {
    pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, kStopCheckMs) <= 0) continue;
    const int client = ::accept(fd_, nullptr, nullptr);
    std::array<char, 1024> request;
    if (::recv(client, request.data(), request.size(), 0) > 0)
      (void)::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
    ::close(client);
  }
}

std::string http_get(const core::Target& target, std::chrono::milliseconds timeout) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  const timeval limit{.tv_sec = timeout.count() / 1000, .tv_usec = timeout.count() % 1000 * 1000};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const auto connected =
      with_address(socket_address(target),
                   [&](const sockaddr* a, socklen_t size) { return ::connect(fd, a, size); });
  auto out = connected ? exchange(fd) : error_text("connect");
  ::close(fd);
  return out;
}

}  // namespace kindlb::testing
