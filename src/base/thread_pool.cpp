#include "kindlb/base/thread_pool.hpp"

#include <utility>

namespace kindlb::base {

void ThreadPool::stop() {
  std::vector<std::jthread> ending;
  std::deque<std::function<void()>> dropped;  // what it captured is destroyed without the lock, too
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    dropped.swap(queue_);
    ending.swap(threads_);
  }
  // Joined by their destructors, without the lock: a running item may still call submit(). All are
  // asked to stop before the first is joined.
  for (auto& thread : ending) thread.request_stop();
}

void ThreadPool::submit(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return;
  queue_.push_back(std::move(work));
  if (waiting_ < queue_.size() && threads_.size() < limit_)
    threads_.emplace_back([this](const std::stop_token& stop) { serve(stop); });
  wake_.notify_one();
}

std::size_t ThreadPool::busy() const {
  const std::lock_guard lock(mutex_);
  return queue_.size() + running_;
}

void ThreadPool::serve(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    ++waiting_;
    wake_.wait(lock, stop, [this] { return !queue_.empty(); });
    --waiting_;
    if (stop.stop_requested() || queue_.empty()) continue;
    auto work = std::move(queue_.front());
    queue_.pop_front();
    ++running_;
    lock.unlock();
    work();
    work = nullptr;  // destroy its captures before locking: their destructors may submit()
    lock.lock();
    --running_;
  }
}

}  // namespace kindlb::base
