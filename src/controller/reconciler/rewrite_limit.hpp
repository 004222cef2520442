#pragma once
// How soon the same status may be written again. A status that the API server has accepted is
// planned again only if something took it away: another controller, or a server that does not keep
// the annotation or the finalizer. Once is a correction; more often it is a quarrel, which must not
// become a loop of writes.
//
// A passive part of a Service's record. Knows nothing of what is written but whether it is the
// same.

#include "kindlb/core/service.hpp"
#include "loop.hpp"

#include <chrono>
#include <optional>

namespace kindlb::controller {

class RewriteLimit {
 public:
  /// Return how long to wait before this write; zero if it may be sent now.
  std::chrono::milliseconds wait(const core::StatusApply& write, Loop::TimePoint now) const;
  /// The API server has accepted this write. REQUIRES: `random` in [0, 1).
  void accepted(core::StatusApply write, Loop::TimePoint now, double random);

 private:
  bool repeats(const core::StatusApply& write) const;

  std::optional<core::StatusApply> last_;  ///< without times
  unsigned repetitions_ = 0;               ///< in a row
  Loop::TimePoint next_{};                 ///< when the same may be written again
};

}  // namespace kindlb::controller
