#include "loop.hpp"

#include "controller/run_due.hpp"
#include "support/fakes/manual_clock.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

using kindlb::controller::Loop;
using kindlb::testing::ManualClock;
using std::chrono::milliseconds;

using kindlb::test::run_due;

TEST_CASE("tasks run in the order they were posted") {
  Loop loop;
  std::stop_source stop;
  std::vector<int> seen;
  for (int i = 0; i < 100; ++i) loop.post([&seen, i] { seen.push_back(i); });
  loop.post([&] { stop.request_stop(); });
  loop.run(stop.get_token());
  REQUIRE(seen.size() == 100);
  for (int i = 0; i < 100; ++i) CHECK(seen[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("a task may post another one, which runs after those already there") {
  Loop loop;
  std::stop_source stop;
  std::vector<int> seen;
  loop.post([&] {
    seen.push_back(1);
    loop.post([&] {
      seen.push_back(3);
      stop.request_stop();
    });
  });
  loop.post([&] { seen.push_back(2); });
  loop.run(stop.get_token());
  CHECK(seen == std::vector<int>{1, 2, 3});
}

TEST_CASE("timers run in the order of their time, not before it") {
  ManualClock clock;
  Loop loop(clock);
  std::vector<int> seen;
  loop.after(milliseconds(6), [&] { seen.push_back(3); });
  loop.after(milliseconds(2), [&] { seen.push_back(1); });
  loop.after(milliseconds(4), [&] { seen.push_back(2); });
  run_due(loop);
  CHECK(seen.empty());
  clock.advance(milliseconds(4));
  run_due(loop);
  CHECK(seen == std::vector<int>{1, 2});
  clock.advance(milliseconds(1));
  run_due(loop);
  CHECK(seen.size() == 2);
  clock.advance(milliseconds(1));
  run_due(loop);
  CHECK(seen == std::vector<int>{1, 2, 3});
}

TEST_CASE("an earlier timer wakes a loop that waits for a later one") {
  Loop loop;
  std::promise<void> early;
  std::jthread thread([&](const std::stop_token& stop) { loop.run(stop); });
  loop.after(std::chrono::hours(1), [] {});
  loop.after(milliseconds(1), [&] { early.set_value(); });
  CHECK(early.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready);
}

TEST_CASE("a task that moves the clock makes timers due, without a post") {
  ManualClock clock;
  Loop loop(clock);
  std::promise<void> done;
  std::jthread thread([&](const std::stop_token& stop) { loop.run(stop); });
  loop.after(std::chrono::minutes(10), [&] { done.set_value(); });
  loop.post([&] { clock.advance(std::chrono::minutes(10)); });
  CHECK(done.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready);
}

TEST_CASE("a loop says when it has something to do") {
  ManualClock clock;
  Loop loop(clock);
  CHECK_FALSE(loop.next_due());
  loop.after(milliseconds(50), [] {});
  loop.after(milliseconds(30), [] {});
  CHECK(loop.next_due() == clock.now() + milliseconds(30));
  clock.advance(milliseconds(40));
  CHECK(loop.next_due() == clock.now());
  run_due(loop);
  CHECK(loop.next_due() == clock.now() + milliseconds(10));
  std::optional<Loop::TimePoint> seen_by_task;
  loop.post([&] { seen_by_task = loop.next_due(); });
  CHECK(loop.next_due() == clock.now());
  run_due(loop);
  CHECK(seen_by_task == clock.now());  // the end of run_due() is queued
}

TEST_CASE("tasks not started when the loop stops are kept for the next run") {
  Loop loop;
  std::stop_source first;
  std::vector<int> seen;
  loop.post([&] { first.request_stop(); });
  loop.post([&] { seen.push_back(1); });
  loop.post([&] { seen.push_back(2); });
  loop.run(first.get_token());
  CHECK(seen.empty());
  std::stop_source second;
  loop.post([&] { second.request_stop(); });
  loop.run(second.get_token());
  CHECK(seen == std::vector<int>{1, 2});
}

TEST_CASE("a stop ends a loop that has nothing to do") {
  Loop loop;
  std::jthread thread([&](const std::stop_token& stop) { loop.run(stop); });
  thread.request_stop();
  thread.join();
}

TEST_CASE("a task's captures die before the next task runs") {
  Loop loop;
  std::stop_source stop;
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = held;
  loop.post([held = std::move(held)] { CHECK(*held == 1); });
  loop.post([&] {
    CHECK(watched.expired());
    stop.request_stop();
  });
  loop.run(stop.get_token());
}

TEST_CASE("posts from many threads all arrive, each thread's in its order") {
  Loop loop;
  constexpr int kThreads = 4;
  constexpr int kEach = 500;
  std::vector<std::vector<int>> seen(kThreads);
  std::promise<void> done;
  int total = 0;
  std::jthread runner([&](const std::stop_token& stop) { loop.run(stop); });
  std::vector<std::jthread> posters;
  for (int t = 0; t < kThreads; ++t)
    posters.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i)
        loop.post([&, t, i] {
          seen[static_cast<std::size_t>(t)].push_back(i);
          if (++total == kThreads * kEach) done.set_value();
        });
    });
  REQUIRE(done.get_future().wait_for(std::chrono::seconds(30)) == std::future_status::ready);
  for (const auto& one : seen) CHECK(std::is_sorted(one.begin(), one.end()));
}
