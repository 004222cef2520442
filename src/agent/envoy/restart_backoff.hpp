#pragma once
// How long to wait before Envoy is started again. Unlike core::Backoff, which spreads the retries
// of many clients, this is one process that restarts its own child: the first restart is immediate,
// there is no jitter, and a stable run resets it. Pure: times are given.

#include <chrono>
#include <cstddef>

namespace kindlb::agent {

class RestartBackoff {
 public:
  using Duration = std::chrono::steady_clock::duration;

  /// Return the delay before the next start, given how long Envoy ran. A run of at least kStable
  /// starts the sequence over.
  Duration next(Duration lived);

  static constexpr std::chrono::seconds kStable{10};

 private:
  std::size_t attempt_ = 0;
};

}  // namespace kindlb::agent
