#include "sandbox/connection_threads.hpp"

namespace kindlb::sandbox {

void ConnectionThreads::enqueue(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(work));
  // One that is idle may already have been promised to an earlier connection.
  if (waiting_.size() > idle_ && threads_.size() < limit_ && !over_)
    threads_.emplace_back([this] { run(); });
  changed_.notify_one();
}

void ConnectionThreads::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(lock, [this] { return over_ || !waiting_.empty(); });
    --idle_;
    if (waiting_.empty()) return;
    auto work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
  }
}

void ConnectionThreads::shutdown() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    threads.swap(threads_);
  }
  changed_.notify_all();
  for (auto& thread : threads) thread.join();
}

}  // namespace kindlb::sandbox
