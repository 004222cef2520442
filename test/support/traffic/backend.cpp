#include "support/traffic/backend.hpp"

#include <poll.h>

#include <stdexcept>

namespace kindlb::testing {

namespace {

constexpr int kStopCheckMs = 20;
constexpr int kTries = 50;
constexpr std::size_t kLargest = 65'536;

}  // namespace

Backend::Backend(const core::IpAddress& address, std::string name, std::uint16_t port)
    : name_(std::move(name)), target_{address, port} {
  // The kernel chooses for TCP; somebody may have the same number for UDP.
  bool listening = listen_on(port);
  for (int i = 0; !listening && port == 0 && i < kTries; ++i) listening = listen_on(0);
  if (!listening) throw std::runtime_error(target_.text() + ": " + error_text("bind"));
  thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
}

Backend::~Backend() = default;

bool Backend::listen_on(std::uint16_t port) {
  tcp_ = bound(SOCK_STREAM | SOCK_NONBLOCK, {target_.address, port});
  if (!tcp_ || ::listen(tcp_.fd(), 4096) != 0) return false;
  const auto chosen = local_name(tcp_).port;
  udp_ = bound(SOCK_DGRAM | SOCK_NONBLOCK, {target_.address, chosen});
  if (udp_) target_.port = chosen;
  return static_cast<bool>(udp_);
}

void Backend::serve(const std::stop_token& stop) {
  std::vector<Socket> clients;
  std::vector<pollfd> polled;
  while (!stop.stop_requested()) {
    polled.assign({{tcp_.fd(), POLLIN, 0}, {udp_.fd(), POLLIN, 0}});
    for (const auto& client : clients) polled.push_back({client.fd(), POLLIN, 0});
    if (::poll(polled.data(), polled.size(), kStopCheckMs) <= 0) continue;
    for (std::size_t i = clients.size(); i-- > 0;)
      if (polled[i + 2].revents != 0 && !answer(clients[i].fd())) {
        std::swap(clients[i], clients.back());
        clients.pop_back();
      }
    if (polled[0].revents != 0) accept_all(clients);
    if (polled[1].revents != 0) answer_datagrams();
  }
}

void Backend::accept_all(std::vector<Socket>& clients) {
  while (true) {
    Socket client(::accept4(tcp_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client) return;
    ++connections_;
    clients.push_back(std::move(client));
  }
}

/// False: the client has gone.
bool Backend::answer(int client) const {
  std::string text(kLargest, '\0');
  const auto got = ::recv(client, text.data(), text.size(), 0);
  if (got <= 0) return false;
  text.resize(static_cast<std::size_t>(got));
  text.insert(0, name_ + " ");
  return ::send(client, text.data(), text.size(), MSG_NOSIGNAL) > 0;
}

void Backend::answer_datagrams() {
  std::string text(kLargest, '\0');
  while (true) {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    auto* name = reinterpret_cast<sockaddr*>(&from);  // NOLINT
    const auto got = ::recvfrom(udp_.fd(), text.data(), text.size(), 0, name, &size);
    if (got < 0) return;
    ++datagrams_;
    const auto answer = name_ + " " + text.substr(0, static_cast<std::size_t>(got));
    (void)::sendto(udp_.fd(), answer.data(), answer.size(), 0, name, size);
  }
}

}  // namespace kindlb::testing
