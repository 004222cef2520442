#include "envoy/restart_backoff.hpp"

#include <doctest/doctest.h>

#include <vector>

using kindlb::agent::RestartBackoff;
using std::chrono::milliseconds;

TEST_CASE("the first restart is immediate, delays then grow") {
  RestartBackoff backoff;
  std::vector<milliseconds> waits;
  for (int i = 0; i < 6; ++i)
    waits.push_back(std::chrono::duration_cast<milliseconds>(backoff.next(milliseconds(10))));
  CHECK(waits == std::vector<milliseconds>{milliseconds(0), milliseconds(100), milliseconds(500),
                                           milliseconds(2000), milliseconds(5000),
                                           milliseconds(5000)});
}

TEST_CASE("a stable run resets the delays") {
  RestartBackoff backoff;
  for (int i = 0; i < 4; ++i) backoff.next(milliseconds(9'999));
  CHECK(backoff.next(RestartBackoff::kStable) == milliseconds(0));
  CHECK(backoff.next(milliseconds(1)) == milliseconds(100));
}
