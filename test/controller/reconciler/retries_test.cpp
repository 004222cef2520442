#include "reconciler/retries.hpp"

#include "controller/run_due.hpp"
#include "support/fakes/manual_clock.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

using namespace kindlb;
using namespace kindlb::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

const core::ServiceKey kKey{"kind", "default", "web"};

struct RetriesRig {
  testing::ManualClock clock;
  controller::Loop loop{clock};
  std::vector<std::string> due;
  controller::Retries retries{
      loop, [this](const core::ServiceKey&, const std::string& uid) { due.push_back(uid); }};

  void pass(seconds time) {
    clock.advance(time);
    run_due(loop);
  }
};

}  // namespace

TEST_CASE_FIXTURE(RetriesRig, "the delay doubles with each failure, up to a cap") {
  for (const auto whole : {200, 400, 800, 1'600, 3'200, 6'400, 12'800, 15'000, 15'000}) {
    const auto delay = retries.next_delay("u1");
    CHECK(delay >= milliseconds(whole / 2));
    CHECK(delay <= milliseconds(whole));
  }
  CHECK(retries.next_delay("u2") <= milliseconds(200));  // each Service has its own
  retries.reset("u1");
  CHECK(retries.next_delay("u1") <= milliseconds(200));
}

TEST_CASE_FIXTURE(RetriesRig, "one call at a time is scheduled for a Service") {
  CHECK_FALSE(retries.scheduled("u1"));
  for (int i = 0; i < 3; ++i) retries.schedule(kKey, "u1");
  retries.schedule(kKey, "u2");
  CHECK(retries.scheduled("u1"));
  CHECK(due.empty());
  pass(seconds(1));
  CHECK(due.size() == 2);
  CHECK_FALSE(retries.scheduled("u1"));
  retries.schedule(kKey, "u1");
  pass(seconds(1));
  CHECK(due.size() == 3);
}

TEST_CASE_FIXTURE(RetriesRig,
                  "a reset does not cancel the call, and a forgotten Service gets none") {
  retries.schedule(kKey, "u1");
  retries.reset("u1");
  CHECK(retries.scheduled("u1"));
  retries.schedule(kKey, "u2");
  retries.forget("u2");
  CHECK_FALSE(retries.scheduled("u2"));
  pass(seconds(1));
  CHECK(due == std::vector<std::string>{"u1"});
}
