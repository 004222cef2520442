#pragma once
// What a reflector does after which result: pure, so that every case can be tried. A list is
// followed by a watch; a watch that ended as announced by the next watch; everything else by a new
// list, after a pause that doubles until a watch has worked. Not thread-safe.

#include <chrono>

namespace kindlb::kube {

enum class Step { List, Watch };

/// How one list or one watch ended.
struct StepResult {
  enum class End {
    Done,     ///< a complete list, or a watch the server closed properly
    Expired,  ///< 410, as an answer or within the stream
    Failed,
  };
  End end = End::Done;
  bool received = false;  ///< a watch: at least one event or bookmark came
  std::chrono::milliseconds lasted{0};
};

struct NextStep {
  Step step = Step::List;
  std::chrono::milliseconds pause{0};

  bool operator==(const NextStep&) const = default;
};

class ReflectorPolicy {
 public:
  /// `random` in [0, 1): spreads the clients of a server that comes back.
  NextStep after(Step step, const StepResult& result, double random);

 private:
  NextStep retry(double random);

  unsigned failures_ = 0;  ///< in a row, since a watch last worked
};

/// How long one watch may take, for the server and for us.
struct WatchLimits {
  std::chrono::seconds server{0};  ///< timeoutSeconds
  std::chrono::seconds silence{0};
};
/// The server's limit is random, so that watches do not all end at once. A server that has sent
/// bookmarks does so every minute: two missing ones mean a dead connection. Others may be silent
/// until they end the watch.
WatchLimits watch_limits(bool bookmarks_seen, double random);

}  // namespace kindlb::kube
