#pragma once
// A number from 0 to 1 for delays, so that many who failed together do not come back together.

#include <random>

namespace kindlb::controller {

inline double jitter() {
  thread_local std::minstd_rand engine{std::random_device{}()};
  return std::uniform_real_distribution<double>(0.0, 1.0)(engine);
}

}  // namespace kindlb::controller
