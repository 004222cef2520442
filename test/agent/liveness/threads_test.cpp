#include "liveness/threads.hpp"

#include <unistd.h>

#include <doctest/doctest.h>

using namespace kindlb::agent;

namespace {

constexpr const char* kStat =
    "42 (wrk:w (0) R) S 1 42 42 0 -1 4194624 100 0 0 0 150 50 0 0 20 0 7 0 7654 1000 500";
constexpr const char* kStatus =
    "Name:\twrk:worker_0\nState:\tS (sleeping)\nvoluntary_ctxt_switches:\t30\n"
    "nonvoluntary_ctxt_switches:\t7\n";

}  // namespace

TEST_CASE("a thread is read from its files, whatever its name") {
  const auto thread = parse_thread(kStat, kStatus);
  REQUIRE(thread.has_value());
  CHECK(thread->id == 42);
  CHECK(thread->name == "wrk:w (0) R");
  CHECK(thread->state == 'S');
  CHECK(thread->cpu_milliseconds == 200'000 / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)));
  CHECK(thread->switches == 37);
}

TEST_CASE("what cannot be read is nothing") {
  CHECK_FALSE(parse_thread("", kStatus).has_value());
  CHECK_FALSE(parse_thread(kStat, "").has_value());
  CHECK_FALSE(parse_thread("42 (x) S 1 2", kStatus).has_value());
  CHECK_FALSE(parse_thread("x (x) S 1", kStatus).has_value());
  CHECK_FALSE(parse_thread(kStat, "voluntary_ctxt_switches:\tmany\n").has_value());
}

TEST_CASE("this process has a thread that runs, and a missing process has none") {
  const auto threads = read_threads(::getpid());
  REQUIRE_FALSE(threads.empty());
  CHECK(threads.front().id == ::getpid());
  CHECK(threads.front().state == 'R');
  CHECK(read_threads(-1).empty());
}
