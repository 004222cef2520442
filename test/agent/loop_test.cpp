#include "loop.hpp"

#include "agent/wire_support.hpp"
#include "kindlb/base/fd.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <doctest/doctest.h>

#include <functional>
#include <vector>

using namespace kindlb;
using namespace kindlb::agent;
using std::chrono::milliseconds;

namespace {

struct Pair {
  kindlb::base::Fd here;
  kindlb::base::Fd there;
  Pair() {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    here.reset(ends[0]);
    there.reset(ends[1]);
  }
};

}  // namespace

TEST_CASE("timers run in order, cancelled ones do not") {
  testing::ManualClock clock;
  Loop loop(clock);
  std::vector<int> order;
  loop.after(milliseconds(4), [&] { order.push_back(2); });
  loop.after(milliseconds(1), [&] { order.push_back(1); });
  const auto cancelled = loop.after(milliseconds(2), [&] { order.push_back(9); });
  loop.cancel(cancelled);
  loop.cancel(cancelled);
  clock.advance(milliseconds(6));
  CHECK(loop.run_due());
  CHECK(order == std::vector{1, 2});
}

TEST_CASE("a timer does not run before its time, nor twice") {
  testing::ManualClock clock;
  Loop loop(clock);
  int fired = 0;
  loop.after(milliseconds(5), [&] { ++fired; });
  clock.advance(milliseconds(4));
  CHECK_FALSE(loop.run_due());
  clock.advance(milliseconds(1));
  CHECK(loop.run_due());
  CHECK_FALSE(loop.run_due());
  CHECK(fired == 1);
}

TEST_CASE("a timer set without delay runs in the next round, although the clock stands still") {
  testing::ManualClock clock;
  Loop loop(clock);
  int fired = 0;
  const std::function<void()> again = [&] {
    if (++fired < 3) loop.after({}, again);
  };
  loop.after({}, again);
  for (int round = 1; round <= 3; ++round) {
    CHECK(loop.run_due());
    CHECK(fired == round);
  }
  CHECK_FALSE(loop.run_due());
}

TEST_CASE("run() waits for timers by the machine's clock, and returns when it is stopped") {
  Loop loop;
  bool fired = false;
  loop.after(milliseconds(1), [&] {
    fired = true;
    loop.stop();
  });
  loop.run();
  CHECK(fired);
}

TEST_CASE("a timer may cancel another that is due at the same time") {
  testing::ManualClock clock;
  Loop loop(clock);
  int fired = 0;
  Loop::TimerId second = 0;
  loop.after({}, [&] {
    ++fired;
    loop.cancel(second);
  });
  second = loop.after({}, [&] { ++fired; });
  settle(loop);
  CHECK(fired == 1);
}

TEST_CASE("a callback may unwatch descriptors of the same round") {
  Loop loop;
  const Pair one;
  const Pair two;
  int calls = 0;
  const auto once = [&](short) {
    ++calls;
    loop.unwatch(one.here.get());
    loop.unwatch(two.here.get());
  };
  loop.watch(one.here.get(), POLLIN, once);
  loop.watch(two.here.get(), POLLIN, once);
  REQUIRE(::send(one.there.get(), "x", 1, 0) == 1);
  REQUIRE(::send(two.there.get(), "x", 1, 0) == 1);
  CHECK(loop.run_due());
  CHECK(calls == 1);
}

TEST_CASE("a callback may replace itself") {
  Loop loop;
  const Pair pair;
  int first = 0;
  int second = 0;
  loop.watch(pair.here.get(), POLLIN, [&](short) {
    ++first;
    loop.watch(pair.here.get(), POLLIN, [&](short) {
      ++second;
      loop.stop();
    });
  });
  REQUIRE(::send(pair.there.get(), "x", 1, 0) == 1);
  loop.run();
  CHECK(first == 1);
  CHECK(second == 1);
}
