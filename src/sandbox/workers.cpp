#include "sandbox/workers.hpp"

namespace kindlb::sandbox {

void Workers::take(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (over_) return;
  waiting_.push_back(std::move(work));
  // One that is idle may already have been promised to earlier work.
  if (waiting_.size() > idle_ && threads_.size() < limit_) threads_.emplace_back([this] { run(); });
  changed_.notify_one();
}

void Workers::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(lock, [this] { return over_ || !waiting_.empty(); });
    --idle_;
    if (over_) return;
    auto work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
  }
}

void Workers::stop() {
  std::vector<std::jthread> threads;
  std::deque<std::function<void()>> dropped;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    threads.swap(threads_);
    dropped.swap(waiting_);
  }
  changed_.notify_all();
}

}  // namespace kindlb::sandbox
