#include "reconciler/dirty_queue.hpp"

#include "controller/run_due.hpp"
#include "support/fakes/manual_clock.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <vector>

using namespace kindlb;
using namespace kindlb::test;
using controller::DirtyQueue;
using core::ServiceKey;
using std::chrono::seconds;

namespace {

const ServiceKey kWeb{"kind", "default", "web"};
const ServiceKey kApi{"kind", "default", "api"};

struct Queue {
  testing::ManualClock clock;
  controller::Loop loop{clock};
  std::vector<DirtyQueue::Keys> runs;
  DirtyQueue queue{loop, [this](const DirtyQueue::Keys& keys) { runs.push_back(keys); }};

  void pass(seconds time) {
    clock.advance(time);
    run_due(loop);
  }
};

}  // namespace

TEST_CASE_FIXTURE(Queue, "marks until the next run join it, each Service once") {
  queue.mark(kWeb);
  queue.mark({kApi, kWeb});
  queue.mark(kWeb);
  CHECK(runs.empty());  // an event only marks
  run_due(loop);
  CHECK(runs == std::vector<DirtyQueue::Keys>{{kApi, kWeb}});
  run_due(loop);
  CHECK(runs.size() == 1);
}

TEST_CASE("what is marked during a run belongs to the next one") {
  testing::ManualClock clock;
  controller::Loop loop{clock};
  int runs = 0;
  DirtyQueue queue{loop, [&](const DirtyQueue::Keys& keys) {
                     CHECK(keys.size() == 1);
                     if (++runs == 1) queue.mark(kWeb);
                   }};
  queue.mark(kWeb);
  run_due(loop);
  run_due(loop);
  CHECK(runs == 2);
}

TEST_CASE_FIXTURE(Queue, "of a Service's timers, the earliest counts") {
  queue.mark_after(kWeb, seconds(5));
  queue.mark_after(kWeb, seconds(9));  // later: the pass before it will ask again
  queue.mark_after(kWeb, seconds(3));
  queue.mark_after(kApi, seconds(4));
  pass(seconds(2));
  CHECK(runs.empty());
  pass(seconds(1));
  run_due(loop);
  CHECK(runs == std::vector<DirtyQueue::Keys>{{kWeb}});
  pass(seconds(10));
  run_due(loop);
  CHECK(runs == std::vector<DirtyQueue::Keys>{{kWeb}, {kApi}});
}

TEST_CASE_FIXTURE(Queue, "a timer may be set again once it has passed") {
  for (int i = 0; i < 3; ++i) {
    queue.mark_after(kWeb, seconds(1));
    pass(seconds(1));
    run_due(loop);
  }
  CHECK(runs.size() == 3);
}

TEST_CASE_FIXTURE(Queue, "a forgotten Service has no timer any more") {
  queue.mark_after(kWeb, seconds(1));
  queue.forget(kWeb);
  pass(seconds(1));
  run_due(loop);
  CHECK(runs.empty());
  SUBCASE("one set anew is its own") {
    queue.mark_after(kWeb, seconds(2));
    pass(seconds(2));
    run_due(loop);
    CHECK(runs.size() == 1);
  }
}
