#pragma once
// Two pods behind one address, as kube-proxy would have it: connections are spread over them, or
// stick to one. A change of that has effect a moment later.

#include "support/traffic/sockets.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace kindlb::conformance {

class Pods {
 public:
  /// Throws std::runtime_error when it cannot listen.
  Pods(const core::IpAddress& address, std::uint16_t port, bool sticky);
  ~Pods();
  Pods(const Pods&) = delete;
  Pods& operator=(const Pods&) = delete;

  void stick(bool sticky);
  /// From now on, /clientip shows an address that is not the client's.
  void hide_clients() { hides_clients_ = true; }

 private:
  using Clock = std::chrono::steady_clock;

  void serve(const std::stop_token& stop);
  std::string next();
  std::string answer_to(std::string_view request, int client);

  std::mutex mutex_;
  bool sticky_;
  Clock::time_point changed_;  ///< what holds since then; before, it was the opposite
  unsigned count_ = 0;
  std::atomic<bool> hides_clients_ = false;
  testing::Socket listener_;
  std::jthread thread_;
};

}  // namespace kindlb::conformance
