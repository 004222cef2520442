#pragma once
// What a reflector does next, given how the last step ended. Pure, so that every case can be
// tested.
//
//   list complete                          -> watch
//   watch closed by the server in time     -> watch again, from the last version
//   watch ended by 410 Gone, first time    -> list at once
//   anything else                          -> pause, then list
//
// The pause doubles from 50 ms to 10 s, with jitter, and starts over once a watch has worked. The
// short-watch guard: a watch that ends within a second without a single event has not worked, even
// if the server closed it properly; otherwise a server (or a proxy in front of it) that accepts and
// drops every watch would be asked in a tight loop. Not thread-safe.

#include "kindlb/core/result.hpp"

#include <chrono>
#include <cstddef>

namespace kindlb::kube {

enum class Step { List, Watch };

/// How one list or one watch ended.
struct StepResult {
  enum class End {
    Done,     ///< a complete list, or a watch the server closed properly
    Expired,  ///< 410 Gone, as the answer or as an ERROR event in the stream
    Failed,   ///< anything else: refused, broken off, unreadable, silent for too long
  };
  End end = End::Done;
  bool received = false;                ///< of a watch: at least one event or bookmark arrived
  std::chrono::milliseconds lasted{0};  ///< of a watch: from the request to its end
};

struct NextStep {
  Step step = Step::List;
  std::chrono::milliseconds pause{0};

  bool operator==(const NextStep&) const = default;
};

class ReflectorPolicy {
 public:
  /// Return the next step. `random` in [0, 1) spreads the clients of a server that comes back.
  NextStep after(Step step, const StepResult& result, double random);

 private:
  NextStep retry(double random);

  unsigned failures_ = 0;  ///< consecutive, since a watch last worked
};

/// How long one watch may last, for the server and for us.
struct WatchLimits {
  std::chrono::seconds server{0};   ///< timeoutSeconds: when the server closes it
  std::chrono::seconds silence{0};  ///< longest time without a byte before we give up
};
/// Return the limits of the next watch. The server's is random, so that watches do not all end at
/// once. A server that has sent bookmarks sends one every minute: two missing ones mean a dead
/// connection, which TCP alone would notice much later. A server that never sent any may be silent
/// until it closes the watch.
WatchLimits watch_limits(bool bookmarks_seen, double random);

/// How much one list has brought so far.
struct ListSize {
  std::size_t pages = 0;
  std::size_t objects = 0;
  std::size_t bytes = 0;  ///< of the pages, as JSON
};
/// Return a TooLarge error that names the bound if the list exceeds one. A server may claim forever
/// that there is one more page, and everything listed is held until the list is complete. The
/// bounds are several times what Kubernetes supports in one cluster (10,000 Services, 5,000 Nodes,
/// 150,000 pods).
core::Result<void> check_size(const ListSize& size);

}  // namespace kindlb::kube
