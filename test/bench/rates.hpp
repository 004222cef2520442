#pragma once
// What goes through a proxy: new connections a second, and bytes a second over one. With the
// backend that both are measured against.

#include "support/traffic/sockets.hpp"

#include <chrono>
#include <thread>

namespace kindlb::bench {

/// On one connection: 'a' is answered by one byte, 's' by bytes without end.
class RateBackend {
 public:
  /// Throws std::runtime_error when it cannot listen.
  explicit RateBackend(const core::IpAddress& address);
  RateBackend(const RateBackend&) = delete;
  RateBackend& operator=(const RateBackend&) = delete;

  const core::Target& target() const { return target_; }
  std::uint16_t port() const { return target_.port; }

 private:
  void serve(const std::stop_token& stop) const;

  core::Target target_;
  testing::Socket listener_;
  std::jthread thread_;
};

bool answers_rate_questions(const core::Target& target);

/// Connections per second that were made, answered and closed, by a few clients at once. Throws
/// when one fails.
double connection_rate(const core::Target& target, std::chrono::milliseconds duration);
/// Bits per second.
double throughput(const core::Target& target, std::chrono::milliseconds duration);

}  // namespace kindlb::bench
