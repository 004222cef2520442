#pragma once
// What happened to a world of fakes, step by step, across all of them. A journal can be cut: from
// then on nothing happens any more, which is what a program that died after that step looks like
// from outside. Thread-safe.

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::testing {

class Journal {
 public:
  /// Notes the step. False: the journal was cut before it, and it must have no effect.
  bool enter(std::string step) {
    const std::lock_guard lock(mutex_);
    if (cut_ && count_ >= *cut_) {
      dead_ = true;
      return false;
    }
    ++count_;
    if (keep_) steps_.push_back(std::move(step));
    return true;
  }

  /// The first `steps` from the last clear() on still happen.
  void cut_after(std::size_t steps) {
    const std::lock_guard lock(mutex_);
    cut_ = steps;
  }
  /// A step was refused because of the cut.
  bool dead() const {
    const std::lock_guard lock(mutex_);
    return dead_;
  }
  void mend() {
    const std::lock_guard lock(mutex_);
    cut_.reset();
    dead_ = false;
  }
  /// Without this, steps are only counted: for worlds that live long.
  void keep(bool keep) {
    const std::lock_guard lock(mutex_);
    keep_ = keep;
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    steps_.clear();
    count_ = 0;
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }
  std::vector<std::string> steps() const {
    const std::lock_guard lock(mutex_);
    return steps_;
  }
  /// Steps that begin like this: "apply", "apply default/web".
  std::size_t count(const std::string& beginning) const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(
        std::count_if(steps_.begin(), steps_.end(),
                      [&](const std::string& step) { return step.starts_with(beginning); }));
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> steps_;
  std::size_t count_ = 0;
  std::optional<std::size_t> cut_;
  bool keep_ = true;
  bool dead_ = false;
};

}  // namespace kindlb::testing
