#pragma once
// Randomness for back-off delays, so that Services that failed together do not retry together.

#include <random>

namespace kindlb::controller {

/// Return a random number from 0 to 1. May be called from any thread.
inline double jitter() {
  thread_local std::minstd_rand engine{std::random_device{}()};
  return std::uniform_real_distribution<double>(0.0, 1.0)(engine);
}

}  // namespace kindlb::controller
