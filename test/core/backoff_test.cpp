#include "kindlb/core/backoff.hpp"

#include <doctest/doctest.h>

using kindlb::core::Backoff;
using kindlb::core::delay_before;

namespace {

constexpr Backoff kLimits{.first = std::chrono::milliseconds(100),
                          .cap = std::chrono::milliseconds(1'000)};

long delay(unsigned attempt, double random) {
  return static_cast<long>(delay_before(attempt, kLimits, random).count());
}

}  // namespace

TEST_CASE("delays double up to the cap") {
  struct Case {
    const char* name;
    unsigned attempt;
    long least;
    long most;
  };
  const Case cases[] = {
      {"first", 0, 50, 100},
      {"second", 1, 100, 200},
      {"third", 2, 200, 400},
      {"fourth", 3, 400, 800},
      {"at the cap", 4, 500, 1'000},
      {"beyond it", 5, 500, 1'000},
      {"far beyond it", 4'000'000'000U, 500, 1'000},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      CHECK(delay(c.attempt, 0.0) == c.least);
      CHECK(delay(c.attempt, 0.5) == (c.least + c.most) / 2);
      CHECK(delay(c.attempt, 0.9999999) <= c.most);
      CHECK(delay(c.attempt, 0.9999999) >= c.most - 1);
    }
  }
}

TEST_CASE("a delay never falls below half of the doubled one") {
  for (unsigned attempt = 0; attempt < 20; ++attempt)
    for (const double random : {0.0, 0.25, 0.99}) CHECK(delay(attempt, random) >= 50);
}

TEST_CASE("a first delay beyond the cap is the cap") {
  const Backoff odd{.first = std::chrono::seconds(10), .cap = std::chrono::seconds(1)};
  CHECK(delay_before(0, odd, 0.0) == std::chrono::milliseconds(500));
  CHECK(delay_before(9, odd, 0.0) == std::chrono::milliseconds(500));
}
