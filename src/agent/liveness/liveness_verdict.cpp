#include "liveness/liveness_verdict.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace kindlb::agent {
namespace {

bool is_worker(const Thread& thread) {
  return thread.name.starts_with("wrk:");
}

/// The threads that answer questions; all of them, should Envoy name its workers otherwise.
std::vector<Thread> workers_of(const std::vector<Thread>& threads) {
  std::vector<Thread> out;
  std::ranges::copy_if(threads, std::back_inserter(out), is_worker);
  return out.empty() ? threads : out;
}

bool any_in_state(const std::vector<Thread>& threads, std::string_view states) {
  return std::ranges::any_of(threads, [&](const Thread& thread) {
    return states.find(thread.state) != std::string_view::npos;
  });
}

/// Whether a thread has run since the former look. A thread that is new has.
bool has_run(const Thread& thread, const std::vector<Thread>& before) {
  const auto former = std::ranges::find(before, thread.id, &Thread::id);
  return former == before.end() || former->cpu_milliseconds != thread.cpu_milliseconds ||
         former->switches != thread.switches;
}

std::chrono::milliseconds cpu_of(const std::vector<Thread>& threads) {
  std::uint64_t sum = 0;
  for (const auto& thread : threads) sum += thread.cpu_milliseconds;
  return std::chrono::milliseconds(sum);
}

bool burns_processor(const Unanswered& look) {
  return look.waited >= kBusyPatience &&
         cpu_of(workers_of(look.now)) - cpu_of(workers_of(look.first)) >= kBusyTime;
}

}  // namespace

/// A worker may wait for a lock that another thread holds, so that one's state counts as well. Only
/// the workers' progress does: a main thread that goes on serves nobody.
bool is_hung(const Unanswered& look) {
  if (look.now.empty() || look.before.empty()) return false;  // gone, or /proc is unreadable
  if (any_in_state(look.now, "ZX")) return false;             // about to be reaped
  const auto workers = workers_of(look.now);
  const bool ran = std::ranges::any_of(
      workers, [&](const Thread& thread) { return has_run(thread, look.before); });
  if (ran || any_in_state(look.now, "R")) return burns_processor(look);
  return !any_in_state(look.now, "D") || look.waited >= kDiskPatience;
}

}  // namespace kindlb::agent
