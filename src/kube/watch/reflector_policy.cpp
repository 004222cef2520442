#include "watch/reflector_policy.hpp"

#include <algorithm>
#include <string>

namespace kindlb::kube {

namespace {
using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kFirstPause = 50ms;
constexpr milliseconds kLongestPause = 10s;
/// A watch that ends sooner than this without an event has not worked, even if it ended properly.
constexpr milliseconds kShortWatch = 1s;

constexpr seconds kShortestTimeout = 240s;
constexpr seconds kLongestTimeout = 480s;
constexpr seconds kGrace = 15s;          ///< for the server to close a watch that is due
constexpr seconds kTwoBookmarks = 150s;  ///< two of its minutes, and some delay

constexpr std::size_t kMaxListPages = 1'000;
constexpr std::size_t kMaxListObjects = 200'000;
constexpr std::size_t kMaxListMiB = 256;

milliseconds pause_after(unsigned failures, double random) {
  const auto doubled = kFirstPause * (1U << std::min(failures - 1, 10U));
  const std::chrono::duration<double, std::milli> jittered = doubled * (1.0 + random / 2);
  return std::min(std::chrono::duration_cast<milliseconds>(jittered), kLongestPause);
}
}  // namespace

NextStep ReflectorPolicy::retry(double random) {
  ++failures_;
  return {Step::List, pause_after(failures_, random)};
}

NextStep ReflectorPolicy::after(Step step, const StepResult& result, double random) {
  const bool done = result.end == StepResult::End::Done;
  // A list alone does not reset the back-off, only a watch that worked does. Otherwise a server
  // that can list but not watch would be listed twenty times a second.
  if (step == Step::List) return done ? NextStep{Step::Watch, 0ms} : retry(random);
  const bool worked = result.received || (done && result.lasted >= kShortWatch);
  if (worked) failures_ = 0;
  if (done && worked) return {Step::Watch, 0ms};
  // List at once after the first 410, but count it: a server that answers every watch with 410 must
  // not be listed in a tight loop.
  if (result.end == StepResult::End::Expired && failures_ == 0) {
    ++failures_;
    return {Step::List, 0ms};
  }
  return retry(random);
}

WatchLimits watch_limits(bool bookmarks_seen, double random) {
  const auto span = static_cast<double>((kLongestTimeout - kShortestTimeout).count());
  const auto server = kShortestTimeout + seconds{static_cast<seconds::rep>(span * random)};
  return {server, bookmarks_seen ? kTwoBookmarks : server + kGrace};
}

core::Result<void> check_size(const ListSize& size) {
  const auto beyond = [](std::size_t bound, const char* unit) {
    return core::Error{core::ErrorKind::TooLarge, "list",
                       "the list has more than " + std::to_string(bound) + unit};
  };
  if (size.pages > kMaxListPages) return beyond(kMaxListPages, " pages");
  if (size.objects > kMaxListObjects) return beyond(kMaxListObjects, " objects");
  if (size.bytes > kMaxListMiB << 20U) return beyond(kMaxListMiB, " MiB");
  return {};
}

}  // namespace kindlb::kube
