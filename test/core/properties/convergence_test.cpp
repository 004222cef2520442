// Properties over random histories. A case is one random event in a world of three Services and
// everything that follows from it until nothing is left to do; kindlb dies now and then in between.
#include "core/properties/simulation.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using kindlb::test::Simulation;

namespace {

// Unoptimised or sanitized code is an order of magnitude slower; the suite has a budget of two
// seconds. The optimised build runs the 10,000 cases: 6,000 one by one, 4,000 five at a time.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kHistories = 300;
#else
constexpr std::uint64_t kHistories = 15;
#endif
constexpr int kEvents = 20;

}  // namespace

TEST_CASE("whatever happens, every Service ends as its present form asks") {
  for (std::uint64_t seed = 1; seed <= kHistories; ++seed) {
    Simulation world(seed);
    for (int event = 0; event < kEvents; ++event) {
      CAPTURE(seed);
      CAPTURE(event);
      if (!world.settle()) FAIL("the world does not settle");
      world.check_outcome();
      if (!world.broken().empty()) FAIL(world.broken().front());
      world.random_event();
      world.check_order();
    }
  }
}

TEST_CASE("several things at once end no differently") {
  for (std::uint64_t seed = 1; seed <= kHistories * 2 / 3; ++seed) {
    Simulation world(seed + 1'000'000);
    for (int round = 0; round < kEvents / 5; ++round) {
      CAPTURE(seed);
      CAPTURE(round);
      for (int event = 0; event < 5; ++event) world.random_event();
      if (!world.settle()) FAIL("the world does not settle");
      world.check_outcome();
      if (!world.broken().empty()) FAIL(world.broken().front());
    }
  }
}

TEST_CASE("the same seed tells the same story") {
  Simulation a(7);
  Simulation b(7);
  for (int event = 0; event < 5; ++event) {
    a.random_event();
    b.random_event();
    CHECK(a.settle() == b.settle());
    CHECK(a.plans() == b.plans());
  }
}
