#include "liveness/liveness_verdict.hpp"

#include <doctest/doctest.h>

using namespace kindlb::agent;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

Thread main_thread(char state, std::uint64_t cpu = 0, std::uint64_t switches = 0) {
  return {1, "envoy", state, cpu, switches};
}

Thread worker(char state, std::uint64_t cpu = 0, std::uint64_t switches = 0) {
  return {2, "wrk:worker_0", state, cpu, switches};
}

Thread second_worker(char state, std::uint64_t cpu = 0, std::uint64_t switches = 0) {
  return {3, "wrk:worker_1", state, cpu, switches};
}

}  // namespace

TEST_CASE("an Envoy that does not answer is hung if no worker can go on") {
  using Threads = std::vector<Thread>;
  struct Case {
    const char* name;
    Threads before;
    Threads now;
    milliseconds waited;
    bool hung;
  };
  const Case cases[] = {
      {"stopped",
       {main_thread('T'), worker('T')},
       {main_thread('T'), worker('T')},
       milliseconds(800),
       true},
      {"stopped by a tracer",
       {main_thread('t'), worker('t')},
       {main_thread('t'), worker('t')},
       milliseconds(800),
       true},
      {"asleep",
       {main_thread('S'), worker('S')},
       {main_thread('S'), worker('S')},
       milliseconds(800),
       true},
      {"asleep, while the main thread goes on",
       {main_thread('S'), worker('S')},
       {main_thread('S', 30, 9), worker('S')},
       milliseconds(800),
       true},
      {"runnable, but without a processor",
       {main_thread('S'), worker('R')},
       {main_thread('S'), worker('R')},
       seconds(100),
       false},
      {"the main thread runnable, perhaps with a lock",
       {main_thread('R'), worker('S')},
       {main_thread('R'), worker('S')},
       seconds(100),
       false},
      {"asleep again after a switch",
       {main_thread('S'), worker('S', 0, 5)},
       {main_thread('S'), worker('S', 0, 6)},
       milliseconds(800),
       false},
      {"asleep again after some time on a processor",
       {main_thread('S'), worker('S', 10)},
       {main_thread('S'), worker('S', 20)},
       milliseconds(800),
       false},
      {"one of two workers goes on",
       {worker('S'), second_worker('S')},
       {worker('S'), second_worker('S', 10, 1)},
       milliseconds(800),
       false},
      {"waiting for a disk",
       {main_thread('S'), worker('D')},
       {main_thread('S'), worker('D')},
       milliseconds(9'999),
       false},
      {"waiting for a disk for long",
       {main_thread('S'), worker('D')},
       {main_thread('S'), worker('D')},
       seconds(10),
       true},
      {"another thread waiting for a disk",
       {main_thread('D'), worker('S')},
       {main_thread('D'), worker('S')},
       milliseconds(800),
       false},
      {"spinning for a while", {worker('R')}, {worker('R', 29'000)}, milliseconds(29'999), false},
      {"spinning for long", {worker('R')}, {worker('R', 29'000)}, seconds(30), true},
      {"spinning for long, among others that want the processor",
       {worker('R')},
       {worker('R', 2'000)},
       seconds(30),
       true},
      {"working now and then for long",
       {worker('R')},
       {worker('R', 1'990, 40)},
       seconds(60),
       false},
      {"about to be reaped",
       {main_thread('S'), worker('S')},
       {main_thread('Z')},
       milliseconds(800),
       false},
      {"gone", {main_thread('S'), worker('S')}, {}, milliseconds(800), false},
      {"unreadable before", {}, {main_thread('S'), worker('S')}, milliseconds(800), false},
      {"workers with other names, asleep",
       {main_thread('S')},
       {main_thread('S')},
       milliseconds(800),
       true},
      {"workers with other names, at work",
       {main_thread('S')},
       {main_thread('S', 0, 1)},
       milliseconds(800),
       false},
      {"a new worker",
       {main_thread('S')},
       {main_thread('S'), worker('S')},
       milliseconds(800),
       false},
  };
  for (const auto& c : cases) {
    CAPTURE(std::string(c.name));
    CHECK(is_hung({c.before, c.before, c.now, c.waited}) == c.hung);
  }
}

TEST_CASE("time on the processor counts from the first look, progress from the last") {
  const std::vector<Thread> first{worker('R', 1'000)};
  const std::vector<Thread> later{worker('S', 3'500, 20)};
  CHECK(is_hung({first, first, later, seconds(30)}));
  CHECK_FALSE(is_hung({{worker('R', 2'000)}, first, later, seconds(30)}));
  CHECK(is_hung({first, later, later, seconds(1)}));
}
