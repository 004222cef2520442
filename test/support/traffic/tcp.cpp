#include "support/traffic/tcp.hpp"

#include <poll.h>

#include <doctest/doctest.h>

#include <array>

namespace kindlb::testing {

namespace {

constexpr int kTcpStopCheckMs = 50;

std::string exchange(const Socket& socket) {
  const std::string request = "GET / HTTP/1.0\r\n\r\n";
  if (::send(socket.fd(), request.data(), request.size(), MSG_NOSIGNAL) < 0)
    return error_text("send");
  std::string answer;
  std::array<char, 1024> buffer;
  ssize_t got = 0;
  while ((got = ::recv(socket.fd(), buffer.data(), buffer.size(), 0)) > 0)
    answer.append(buffer.data(), static_cast<std::size_t>(got));
  const auto body = answer.find("\r\n\r\n");
  if (body != std::string::npos) return answer.substr(body + 4);
  return got < 0 ? error_text("recv") : "closed";
}

}  // namespace

OneAnswer::OneAnswer(const core::IpAddress& address, std::string body, std::uint16_t port)
    : body_(std::move(body)),
      target_{address, port},
      listener_(bound(SOCK_STREAM, {address, port})) {
  REQUIRE_MESSAGE(listener_, error_text("bind"));
  REQUIRE(::listen(listener_.fd(), 64) == 0);
  target_.port = local_name(listener_).port;
  thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
}

OneAnswer::~OneAnswer() = default;

void OneAnswer::serve(const std::stop_token& stop) const {
  const auto answer = "HTTP/1.0 200 OK\r\nConnection: close\r\n\r\n" + body_;
  while (!stop.stop_requested()) {
    pollfd waiting{.fd = listener_.fd(), .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, kTcpStopCheckMs) <= 0) continue;
    const Socket client(::accept(listener_.fd(), nullptr, nullptr));
    std::array<char, 1024> request;
    if (::recv(client.fd(), request.data(), request.size(), 0) > 0)
      (void)::send(client.fd(), answer.data(), answer.size(), MSG_NOSIGNAL);
  }
}

std::string http_get(const core::Target& target, std::chrono::milliseconds timeout) {
  const auto socket = dial(SOCK_STREAM, target, timeout);
  return socket ? exchange(socket) : error_text("connect");
}

}  // namespace kindlb::testing
