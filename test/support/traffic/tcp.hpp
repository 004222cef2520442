#pragma once
// The smallest backend and the smallest client, for tests that send one request through something.

#include "support/traffic/sockets.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

namespace kindlb::testing {

/// Answers every connection with one HTTP/1.0 response, on its own thread, until destroyed.
class OneAnswer {
 public:
  /// Port 0: one the kernel chooses. Ends the test case when it cannot listen.
  OneAnswer(const core::IpAddress& address, std::string body, std::uint16_t port = 0);
  ~OneAnswer();
  OneAnswer(const OneAnswer&) = delete;
  OneAnswer& operator=(const OneAnswer&) = delete;

  core::Target target() const { return target_; }

 private:
  void serve(const std::stop_token& stop) const;

  std::string body_;
  core::Target target_;
  Socket listener_;
  std::jthread thread_;
};

/// The body of GET /, or why there is none: "connect: Connection refused", "closed".
std::string http_get(const core::Target& target,
                     std::chrono::milliseconds timeout = std::chrono::seconds(5));

}  // namespace kindlb::testing
