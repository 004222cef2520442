#include "kindlb/base/clock.hpp"

namespace kindlb::base {

namespace {

class MachineClock final : public Clock {
 public:
  TimePoint now() const override { return std::chrono::steady_clock::now(); }
  std::chrono::system_clock::time_point wall() const override {
    return std::chrono::system_clock::now();
  }
};

}  // namespace

const Clock& machine_clock() {
  static const MachineClock kClock;
  return kClock;
}

}  // namespace kindlb::base
