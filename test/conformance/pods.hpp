#pragma once
// Two pods behind one address, as kube-proxy would have it: connections are spread over them, or
// stick to one. A change of that has effect a moment later.

#include "support/traffic/sockets.hpp"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
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

 private:
  using Clock = std::chrono::steady_clock;

  void serve(const std::stop_token& stop);
  std::string next();

  std::mutex mutex_;
  bool sticky_;
  Clock::time_point changed_;  ///< what holds since then; before, it was the opposite
  unsigned count_ = 0;
  testing::Socket listener_;
  std::jthread thread_;
};

}  // namespace kindlb::conformance
