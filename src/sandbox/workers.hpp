#pragma once
// Threads for requests, made as they are needed and kept. A watch holds one for as long as it
// lasts, so there must be more of them than watches are allowed.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace kindlb::sandbox {

class Workers {
 public:
  explicit Workers(std::size_t limit) : limit_(limit) {}
  ~Workers() { stop(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Never waits: work for which there is no thread comes later.
  void take(std::function<void()> work);
  /// Waits for what is being done; what was not begun is dropped.
  void stop();

 private:
  void run();

  const std::size_t limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  std::vector<std::jthread> threads_;
  std::size_t idle_ = 0;
  bool over_ = false;
};

}  // namespace kindlb::sandbox
