#pragma once
// Runs a loop until a condition holds, for tests of what lives on it.

#include "loop.hpp"

#include <functional>
#include <utility>

namespace kindlb::agent {

class Until {
 public:
  Until(Loop& loop, std::function<bool()> condition) : loop_(loop), holds_(std::move(condition)) {}

  bool within(std::chrono::milliseconds limit) {
    const auto expiry = loop_.after(limit, [this] { loop_.stop(); });
    look();
    loop_.run();
    loop_.cancel(expiry);
    loop_.cancel(next_);
    return holds_();
  }

 private:
  void look() {
    if (holds_()) loop_.stop();
    next_ = loop_.after(std::chrono::milliseconds(1), [this] { look(); });
  }

  Loop& loop_;
  std::function<bool()> holds_;
  Loop::TimerId next_ = 0;
};

inline bool run_until(Loop& loop, std::function<bool()> condition,
                      std::chrono::milliseconds limit = std::chrono::seconds(5)) {
  return Until(loop, std::move(condition)).within(limit);
}

}  // namespace kindlb::agent
