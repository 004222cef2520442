#include "conformance/pods.hpp"

#include <arpa/inet.h>
#include <poll.h>

#include <array>
#include <stdexcept>

namespace kindlb::conformance {

namespace {
constexpr int kStopCheckMs = 50;
constexpr std::chrono::milliseconds kLag{700};
}  // namespace

Pods::Pods(const core::IpAddress& address, std::uint16_t port, bool sticky)
    : sticky_(sticky), listener_(testing::bound(SOCK_STREAM, {address, port})) {
  if (!listener_ || ::listen(listener_.fd(), 64) != 0)
    throw std::runtime_error(testing::error_text("listen"));
  thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
}

Pods::~Pods() = default;

void Pods::stick(bool sticky) {
  const std::lock_guard lock(mutex_);
  if (sticky == sticky_) return;
  sticky_ = sticky;
  changed_ = Clock::now() + kLag;
}

std::string Pods::next() {
  const std::lock_guard lock(mutex_);
  const bool sticks = Clock::now() < changed_ ? !sticky_ : sticky_;
  return sticks || ++count_ % 2 == 0 ? "pod-0" : "pod-1";
}

std::string Pods::answer_to(std::string_view request, int client) {
  if (!request.starts_with("GET /clientip")) return next();
  if (hides_clients_) return "10.244.0.1:1234";
  sockaddr_in peer{};
  socklen_t size = sizeof peer;
  std::array<char, INET_ADDRSTRLEN> text{};
  if (::getpeername(client, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return "";
  ::inet_ntop(AF_INET, &peer.sin_addr, text.data(), text.size());
  return std::string(text.data()) + ":" + std::to_string(ntohs(peer.sin_port));
}

void Pods::serve(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    pollfd waiting{.fd = listener_.fd(), .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, kStopCheckMs) <= 0) continue;
    const testing::Socket client(::accept(listener_.fd(), nullptr, nullptr));
    std::array<char, 1024> request;
    const auto size = ::recv(client.fd(), request.data(), request.size(), 0);
    if (size <= 0) continue;
    const auto answer = "HTTP/1.0 200 OK\r\nConnection: close\r\n\r\n" +
                        answer_to({request.data(), static_cast<std::size_t>(size)}, client.fd());
    (void)::send(client.fd(), answer.data(), answer.size(), MSG_NOSIGNAL);
  }
}

}  // namespace kindlb::conformance
