#include "kindlb/base/thread_pool.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

using kindlb::base::ThreadPool;

namespace {

/// Work waits here until the gate opens; counts who is inside.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    peak_ = std::max(peak_, ++inside_);
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --inside_;
    ++passed_;
    changed_.notify_all();
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  bool wait_inside(int count) {
    return wait([=, this] { return inside_ >= count; });
  }
  bool wait_passed(int count) {
    return wait([=, this] { return passed_ >= count; });
  }
  int peak() const {
    const std::lock_guard lock(mutex_);
    return peak_;
  }

 private:
  template <typename Condition>
  bool wait(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30), condition);
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  int passed_ = 0;
  int peak_ = 0;
  bool open_ = false;
};

}  // namespace

TEST_CASE("no more items run at once than there are threads") {
  Gate gate;
  ThreadPool pool(3);
  for (int i = 0; i < 10; ++i) pool.submit([&] { gate.pass(); });
  CHECK(gate.wait_inside(3));
  gate.open();
  CHECK(gate.wait_passed(10));
  CHECK(gate.peak() == 3);
}

TEST_CASE("items submitted one after the other need one thread") {
  ThreadPool pool(4);
  std::vector<std::thread::id> seen;
  std::mutex mutex;
  for (int i = 0; i < 5; ++i) {
    std::latch done(1);
    pool.submit([&] {
      const std::lock_guard lock(mutex);
      if (std::find(seen.begin(), seen.end(), std::this_thread::get_id()) == seen.end())
        seen.push_back(std::this_thread::get_id());
      done.count_down();
    });
    done.wait();
  }
  CHECK(seen.size() <= 4);
  CHECK(!seen.empty());
}

TEST_CASE("no item submitted from many threads is lost") {
  constexpr int kThreads = 4;
  constexpr int kEach = 300;
  std::latch done(kThreads * kEach);
  ThreadPool pool(4);
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) pool.submit([&] { done.count_down(); });
    });
  done.wait();  // a lost piece makes this test hang until its time is up
}

TEST_CASE("stop waits for running items and drops the rest") {
  Gate gate;
  std::atomic<int> begun = 0;
  ThreadPool pool(1);
  const auto rest = std::make_shared<int>(0);
  pool.submit([&] {
    ++begun;
    gate.pass();
  });
  REQUIRE(gate.wait_inside(1));
  for (int i = 0; i < 5; ++i) pool.submit([&begun, rest] { ++begun; });
  std::jthread opener([&] { gate.open(); });
  pool.stop();
  opener.join();
  // The one that ran may have let a few more begin before stop came; what was dropped is gone.
  CHECK(begun >= 1);
  CHECK(rest.use_count() == 1);
  const auto before = begun.load();
  pool.submit([&] { ++begun; });
  CHECK(begun == before);
}

TEST_CASE("a pool says how many items are queued or running") {
  Gate gate;
  ThreadPool pool(2);
  CHECK(pool.busy() == 0);
  for (int i = 0; i < 3; ++i) pool.submit([&] { gate.pass(); });
  REQUIRE(gate.wait_inside(2));
  CHECK(pool.busy() == 3);
  gate.open();
  while (pool.busy() > 0) std::this_thread::yield();
  CHECK(gate.wait_passed(3));
}

TEST_CASE("captures are destroyed right after the item has run") {
  ThreadPool pool(1);
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = held;
  std::latch done(1);
  pool.submit([held = std::move(held)] { CHECK(*held == 1); });
  pool.submit([&] {
    CHECK(watched.expired());
    done.count_down();
  });
  done.wait();
}

TEST_CASE("an unused pool stops at once") {
  ThreadPool pool(4);
  pool.stop();
  pool.stop();
}
