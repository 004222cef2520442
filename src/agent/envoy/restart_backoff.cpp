#include "envoy/restart_backoff.hpp"

#include <algorithm>
#include <array>

namespace kindlb::agent {
namespace {
using std::chrono::milliseconds;
// The first restart is immediate: Envoy is back in about 100 ms, and a single crash should cost
// less than a second of service. An Envoy that cannot run at all is tried every five seconds.
constexpr std::array kDelays{milliseconds(0), milliseconds(100), milliseconds(500),
                             milliseconds(2'000), milliseconds(5'000)};
}  // namespace

RestartBackoff::Duration RestartBackoff::next(Duration lived) {
  if (lived >= kStable) attempt_ = 0;
  return kDelays[std::min(attempt_++, kDelays.size() - 1)];
}

}  // namespace kindlb::agent
