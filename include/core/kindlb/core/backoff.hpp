#pragma once
// Exponential backoff: a delay that doubles up to a cap, with jitter so that many failures of one
// cause do not retry in step. Pure: the random number is an argument.

#include <algorithm>
#include <chrono>

namespace kindlb::core {

struct Backoff {
  std::chrono::milliseconds first{200};
  std::chrono::milliseconds cap{15'000};
};

/// Return the delay before retry `attempt` (counted from 0), between half and all of the doubled
/// delay. REQUIRES: `random` in [0, 1).
constexpr std::chrono::milliseconds delay_before(unsigned attempt, const Backoff& limits,
                                                 double random) {
  auto whole = limits.first;
  for (unsigned i = 0; i < attempt && whole < limits.cap; ++i) whole *= 2;
  whole = std::min(whole, limits.cap);
  const auto half = whole.count() / 2;
  return std::chrono::milliseconds(half + static_cast<std::chrono::milliseconds::rep>(
                                              static_cast<double>(whole.count() - half) * random));
}

}  // namespace kindlb::core
