#pragma once
// A bounded pool of threads for work that blocks: Engine calls, status writes. It is not a
// scheduler: work starts in the order it was submitted, has no priority and returns nothing.
//
// Threads start on demand, at most `threads` of them, and live until stop(). submit() may be called
// from any thread, also from work that runs in the pool. stop(), and so destruction, drops work
// that has not started and waits for work that has: what running work refers to must outlive the
// pool, so declare the pool after it.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace kindlb::base {

class ThreadPool {
 public:
  explicit ThreadPool(std::size_t threads) : limit_(threads) {}
  ~ThreadPool() { stop(); }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Queue `work`; it must not throw. After stop() it is dropped.
  void submit(std::function<void()> work);
  /// Drop queued work, wait for running work, join the threads. May be called twice.
  /// REQUIRES: not called from one of the pool's own threads, which would join itself.
  void stop();
  /// Return how many items are queued or running; 0: all have ended, and what they did is visible.
  std::size_t busy() const;

 private:
  void serve(const std::stop_token& stop);

  const std::size_t limit_;
  mutable std::mutex mutex_;  ///< guards everything below
  std::condition_variable_any wake_;
  std::deque<std::function<void()>> queue_;
  /// Threads inside wait(), some of which may already have been notified. A new thread is started
  /// only when there are fewer of them than queued items, so that no item waits behind a running
  /// one while the pool may still grow.
  std::size_t waiting_ = 0;
  std::size_t running_ = 0;
  bool stopped_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace kindlb::base
