#pragma once
// Blocking work away from the loop's thread, with its result back on it.
// For threads other than the loop's: waiting by its clock.

#include "kindlb/base/thread_pool.hpp"
#include "loop.hpp"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace kindlb::controller {

/// Run `work` on the executor, then `done(result)` on the loop's thread. Both closures must be
/// copyable. `done` is dropped if the executor or the loop stops first, so whatever `work` changed
/// outside must be found again by looking, never remembered only in `done`.
template <typename Work, typename Done>
void run_then(base::ThreadPool& executor, Loop& loop, Work work, Done done) {
  executor.submit([&loop, work = std::move(work), done = std::move(done)] {
    // Shared, because a task must be copyable and a result need not be.
    auto result = std::make_shared<std::invoke_result_t<const Work&>>(work());
    loop.post([result, done] { done(std::move(*result)); });
  });
}

/// Wait for `time` by the loop's clock, while the loop runs. Returns at once when a stop is
/// requested. Not to be called on the loop's thread.
inline void wait_for(Loop& loop, const std::stop_token& stop, std::chrono::milliseconds time) {
  struct Timer {
    std::mutex mutex;
    std::condition_variable_any wake;
    bool due = false;
  };
  const auto timer = std::make_shared<Timer>();
  loop.after(time, [timer] {
    const std::lock_guard lock(timer->mutex);
    timer->due = true;
    timer->wake.notify_all();
  });
  std::unique_lock lock(timer->mutex);
  timer->wake.wait(lock, stop, [&] { return timer->due; });
}

}  // namespace kindlb::controller
