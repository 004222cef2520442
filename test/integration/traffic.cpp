#include "integration/traffic.hpp"

#include "support/traffic/tcp.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <array>
#include <cstring>

namespace kindlb::it {

namespace {

constexpr std::chrono::milliseconds kPause{5};
constexpr int kStopCheckMs = 50;

sockaddr_in to_sockaddr(const core::IpAddress& address, std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  std::memcpy(&out.sin_addr, address.bytes().data(), sizeof out.sin_addr);
  return out;
}

sockaddr* generic(sockaddr_in& address) {
  return reinterpret_cast<sockaddr*>(&address);  // NOLINT
}

/// False: the peer has closed.
bool give_back(int client) {
  std::array<char, 1024> buffer;
  const auto got = ::recv(client, buffer.data(), buffer.size(), 0);
  return got > 0 && ::send(client, buffer.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL) > 0;
}

}  // namespace

Poller::Poller(std::vector<core::Target> targets, std::string expected)
    : targets_(std::move(targets)),
      expected_(std::move(expected)),
      thread_([this](const std::stop_token& stop) { poll(stop); }) {}

void Poller::poll(const std::stop_token& stop) {
  for (std::size_t turn = 0; !stop.stop_requested(); ++turn) {
    const auto& target = targets_[turn % targets_.size()];
    const auto answer = testing::http_get(target);
    {
      const std::lock_guard lock(mutex_);
      if (answer == expected_)
        ++answers_;
      else
        failures_.push_back(target.text() + ": " + answer);
    }
    std::this_thread::sleep_for(kPause);
  }
}

std::vector<std::string> Poller::failures() {
  const std::lock_guard lock(mutex_);
  return failures_;
}

std::size_t Poller::answers() {
  const std::lock_guard lock(mutex_);
  return answers_;
}

Echo::Echo(const core::IpAddress& address) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  auto where = to_sockaddr(address, 0);
  socklen_t size = sizeof where;
  REQUIRE(::bind(fd_, generic(where), size) == 0);
  REQUIRE(::listen(fd_, 16) == 0);
  REQUIRE(::getsockname(fd_, generic(where), &size) == 0);
  port_ = ntohs(where.sin_port);
  thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
}

Echo::~Echo() {
  thread_.request_stop();
  thread_.join();
  ::close(fd_);
}

void Echo::serve(const std::stop_token& stop) {
  std::vector<pollfd> open{{.fd = fd_, .events = POLLIN, .revents = 0}};
  while (!stop.stop_requested()) {
    if (::poll(open.data(), open.size(), kStopCheckMs) <= 0) continue;
    for (std::size_t i = open.size(); i-- > 1;) {
      if (open[i].revents == 0 || give_back(open[i].fd)) continue;
      ::close(open[i].fd);
      open.erase(open.begin() + static_cast<long>(i));
    }
    if (open[0].revents != 0)
      open.push_back(
          {.fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC), .events = POLLIN, .revents = 0});
  }
  for (std::size_t i = 1; i < open.size(); ++i) ::close(open[i].fd);
}

Connection::Connection(const core::Target& target)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const timeval limit{.tv_sec = 5, .tv_usec = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  auto where = to_sockaddr(target.address, target.port);
  REQUIRE(::connect(fd_, generic(where), sizeof where) == 0);
}

Connection::~Connection() {
  ::close(fd_);
}

std::string Connection::say(const std::string& text) {
  if (::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) < 0) return "closed";
  std::string answer(text.size(), '\0');
  const auto got = ::recv(fd_, answer.data(), answer.size(), MSG_WAITALL);
  return got == static_cast<ssize_t>(text.size()) ? answer : "closed";
}

}  // namespace kindlb::it
