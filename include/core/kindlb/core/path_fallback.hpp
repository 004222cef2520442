#pragma once
// From the direct path to node ports and back: a state machine per Service, pure.
//
//   Untried ──no pod answers──► Blocked ──a retry reaches a pod──► Proven
//                                  ▲                                  │
//                                  └─────────no pod answers───────────┘
//
// While a Service is served through node ports, the direct path is retried once in a while, with
// back-off: the proxy gets the routes and probes of the direct path beside the node ports it
// serves. So a retry never interrupts traffic, and traffic moves only after a pod has answered.
// After a restart the state is Untried again; that a Service uses node ports is then known from the
// revision that its agent keeps (Revision::path).

#include <chrono>
#include <optional>

namespace kindlb::core {

/// The result of probing the endpoints. Refused: the host answered with a reset, so the path works
/// although the application does not listen.
enum class Reach { Unknown, Reached, Refused, Unreachable };

/// What probes have shown of the direct path.
enum class DirectPath { Untried, Blocked, Proven };

/// Where the next retry of the direct path is: not scheduled, waiting for its delay to pass, or
/// part of the next plan.
enum class DirectRetry { Idle, Waiting, Due };

struct PathState {
  DirectPath direct = DirectPath::Untried;
  DirectRetry retry = DirectRetry::Idle;
  unsigned retries = 0;  ///< in a row, for the back-off

  bool operator==(const PathState&) const = default;
};

/// What a pass has seen of a Service's path.
struct PathObservation {
  /// Of the endpoints, over the path last applied, or over the direct path if `direct_retried`.
  Reach reach = Reach::Unknown;
  bool on_fallback = false;     ///< served through node ports, and the direct path may be retried
  bool direct_retried = false;  ///< the proxy has probed the direct path, as a retry asked for
};

/// The state after a pass, and what to do about it.
struct PathStep {
  PathState state;
  bool returns = false;     ///< pods can be reached directly again: stop using node ports
  bool plan_again = false;  ///< with the proxy's failures forgotten
  /// Call direct_retry_due() after this delay.
  std::optional<std::chrono::milliseconds> retry_after;

  bool operator==(const PathStep&) const = default;
};

/// Return the state after no pod has answered over the direct path, or nothing if that was known:
/// then the fall-back does not help either.
std::optional<PathState> fall_back(PathState state);

/// Return what follows from a pass. REQUIRES: `random` in [0, 1), for the delay.
PathStep next_step(PathState state, const PathObservation& seen, double random);

/// The delay of a PathStep has passed. Return the new state, in which the next plan retries the
/// direct path, or nothing if the Service has left node ports meanwhile.
std::optional<PathState> direct_retry_due(PathState state);

}  // namespace kindlb::core
