#include "bench/rates.hpp"

#include <poll.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <vector>

namespace kindlb::bench {

namespace {

using std::chrono::steady_clock;

constexpr int kClients = 4;
constexpr std::chrono::seconds kLimit{5};

void stream(const testing::Socket& client) {
  const std::vector<char> bytes(256 * 1024, 'x');
  while (::send(client.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0) {
  }
}

/// Answers 'a' at once; a stream gets a thread of its own.
void answer(testing::Socket client) {
  char question = 0;
  if (::recv(client.fd(), &question, 1, 0) != 1) return;
  if (question == 'a') (void)::send(client.fd(), "a", 1, MSG_NOSIGNAL);
  if (question == 's') std::thread([client = std::move(client)] { stream(client); }).detach();
}

}  // namespace

RateBackend::RateBackend(const core::IpAddress& address)
    : listener_(testing::bound(SOCK_STREAM, {address, 0})) {
  if (!listener_ || ::listen(listener_.fd(), 4096) != 0)
    throw std::runtime_error(testing::error_text("listen"));
  target_ = testing::local_name(listener_);
  thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
}

void RateBackend::serve(const std::stop_token& stop) const {
  while (!stop.stop_requested()) {
    pollfd polled{listener_.fd(), POLLIN, 0};
    if (::poll(&polled, 1, 50) <= 0) continue;
    testing::Socket client(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    const timeval limit{.tv_sec = 1, .tv_usec = 0};
    ::setsockopt(client.fd(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    answer(std::move(client));
  }
}

bool answers_rate_questions(const core::Target& target) {
  const auto socket = testing::dial(SOCK_STREAM, target, kLimit);
  std::array<char, 2> answer{};
  return socket && ::send(socket.fd(), "a", 1, MSG_NOSIGNAL) == 1 &&
         ::recv(socket.fd(), answer.data(), answer.size(), 0) == 1 && answer[0] == 'a';
}

double connection_rate(const core::Target& target, std::chrono::milliseconds duration) {
  std::atomic<int> made = 0;
  std::atomic<int> failed = 0;
  const auto begin = steady_clock::now();
  const auto end = begin + duration;
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < kClients; ++i)
      clients.emplace_back([&] {
        while (steady_clock::now() < end) ++(answers_rate_questions(target) ? made : failed);
      });
  }
  if (failed > 0) throw std::runtime_error(std::to_string(failed) + " connections failed");
  return made / std::chrono::duration<double>(steady_clock::now() - begin).count();
}

double throughput(const core::Target& target, std::chrono::milliseconds duration) {
  const auto socket = testing::dial(SOCK_STREAM, target, kLimit);
  if (!socket || ::send(socket.fd(), "s", 1, MSG_NOSIGNAL) != 1)
    throw std::runtime_error(testing::error_text("connect"));
  std::vector<char> buffer(1024 * 1024);
  double bytes = 0;
  const auto begin = steady_clock::now();
  while (steady_clock::now() < begin + duration) {
    const auto got = ::recv(socket.fd(), buffer.data(), buffer.size(), 0);
    if (got <= 0) throw std::runtime_error("the stream ended");
    bytes += static_cast<double>(got);
  }
  return bytes * 8 / std::chrono::duration<double>(steady_clock::now() - begin).count();
}

}  // namespace kindlb::bench
