#pragma once
// How long to wait before Envoy is started again. Pure: times are given.

#include <chrono>
#include <cstddef>

namespace kindlb::agent {

class RestartBackoff {
 public:
  using Duration = std::chrono::steady_clock::duration;

  /// The delay after an end, given how long the process had lived. A life of kStable forgives all.
  Duration next(Duration lived);

  static constexpr std::chrono::seconds kStable{10};

 private:
  std::size_t attempt_ = 0;
};

}  // namespace kindlb::agent
