#include "kindlb/core/path_fallback.hpp"

#include "kindlb/core/backoff.hpp"

namespace kindlb::core {

namespace {

constexpr Backoff kDirectRetryBackoff{std::chrono::seconds(10), std::chrono::minutes(5)};

}  // namespace

std::optional<PathState> fall_back(PathState state) {
  if (state.direct == DirectPath::Blocked) return std::nullopt;
  state.direct = DirectPath::Blocked;
  return state;
}

PathStep next_step(PathState state, const PathObservation& seen, double random) {
  PathStep out{.state = state};
  if (!seen.on_fallback) {
    out.state.retry = DirectRetry::Idle;
    out.state.retries = 0;
    return out;
  }
  if (state.retry == DirectRetry::Idle) {
    out.state.retry = DirectRetry::Waiting;
    out.retry_after = delay_before(out.state.retries++, kDirectRetryBackoff, random);
    return out;
  }
  if (state.retry != DirectRetry::Due || !seen.direct_retried || seen.reach == Reach::Unknown)
    return out;
  out.state.retry = DirectRetry::Idle;
  out.returns = seen.reach != Reach::Unreachable;
  if (out.returns) out.state.direct = DirectPath::Proven;
  out.plan_again = true;
  return out;
}

std::optional<PathState> direct_retry_due(PathState state) {
  if (state.retry != DirectRetry::Waiting) return std::nullopt;
  state.retry = DirectRetry::Due;
  return state;
}

}  // namespace kindlb::core
