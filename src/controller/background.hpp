#pragma once
// Blocking work away from the loop's thread, with its result back on it.

#include "kindlb/base/thread_pool.hpp"
#include "loop.hpp"

#include <memory>
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

}  // namespace kindlb::controller
