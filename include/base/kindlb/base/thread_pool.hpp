#pragma once
// A few threads for work that waits: engine calls, status writes. Threads are started when first
// needed. submit() may be called from any thread. stop(), and so destruction, drops what has not
// begun and waits for what has.

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

  void submit(std::function<void()> work);
  /// What is submitted afterwards is dropped. Not from one of its own threads.
  void stop();

 private:
  void serve(const std::stop_token& stop);

  const std::size_t limit_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<std::function<void()>> queue_;
  std::size_t waiting_ = 0;
  bool stopped_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace kindlb::base
