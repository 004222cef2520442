#include "reconciler/rewrite_limit.hpp"

#include "kindlb/core/backoff.hpp"

#include <algorithm>
#include <utility>

namespace kindlb::controller {

namespace {

constexpr core::Backoff kRewriteBackoff{std::chrono::milliseconds(2'000),
                                        std::chrono::milliseconds(60'000)};

/// Times may move with every write; they do not make it another one.
core::StatusApply without_times(core::StatusApply write) {
  for (auto& condition : write.conditions) condition.last_transition = {};
  return write;
}

}  // namespace

bool RewriteLimit::repeats(const core::StatusApply& write) const {
  return last_ && *last_ == without_times(write);
}

std::chrono::milliseconds RewriteLimit::wait(const core::StatusApply& write,
                                             Loop::TimePoint now) const {
  if (!repeats(write) || now >= next_) return std::chrono::milliseconds(0);
  return std::chrono::ceil<std::chrono::milliseconds>(next_ - now);
}

/// The first repetition is free, and so is one after a time of peace.
void RewriteLimit::accepted(core::StatusApply write, Loop::TimePoint now, double random) {
  const bool again = repeats(write) && now < next_ + kRewriteBackoff.cap;
  repetitions_ = again ? repetitions_ + 1 : 0;
  next_ = now;
  if (repetitions_ > 0) next_ += core::delay_before(repetitions_ - 1, kRewriteBackoff, random);
  last_ = without_times(std::move(write));
}

}  // namespace kindlb::controller
