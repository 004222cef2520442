#pragma once
// A watch: its options, and the stream of events that answers it. The stream pulls from the store's
// history at the pace of its client: nothing is queued per watch, so a slow client costs no memory.
// If it falls behind so far that the history is compacted, it gets 410 and has to list again.

#include "storage/store.hpp"
#include "verbs/fault_injector.hpp"
#include "verbs/selectors.hpp"

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace kindlb::apiserver {

/// From the query parameters of the request.
struct WatchOptions {
  const Resource* resource = nullptr;
  std::string ns;
  LabelSelector labels;
  FieldSelector fields;
  /// resourceVersion to resume after. Nothing ("" or "0"): begin with the current objects as ADDED.
  std::optional<Revision> after;
  bool initial_events = false;  ///< sendInitialEvents (KEP-3157): current objects, then a bookmark
  bool bookmarks = false;
  bool as_table = false;
  std::chrono::seconds timeout{0};
};

/// Not thread-safe: belongs to the thread that answers the request.
class WatchStream {
 public:
  WatchStream(Store& store, FaultInjector& faults, WatchOptions options);

  /// Return the next events, one JSON object per line, at most about 256 KiB. Blocks for up to
  /// 250 ms; empty if nothing happened, so that the caller can check its client. Nothing: the watch
  /// has ended.
  std::optional<std::string> next(const std::stop_token& stop);

 private:
  using Clock = std::chrono::steady_clock;

  bool selects(const Object& object) const;
  void start();
  std::string next_initial_events();
  void append_event(std::string& out, const char* type, const Object& object) const;
  void append_change(std::string& out, const Change& change) const;
  void append_bookmark(std::string& out, bool end_of_initial);

  Store& store_;
  FaultInjector& faults_;
  WatchOptions options_;
  Revision position_ = 0;           ///< all changes up to here were sent
  std::vector<ObjectPtr> initial_;  ///< the objects at the start; null once sent
  std::size_t initial_sent_ = 0;
  bool mark_initial_end_ = false;  ///< send the bookmark k8s.io/initial-events-end after them
  std::uint64_t watch_drops_;
  Clock::time_point deadline_;
  Clock::time_point next_bookmark_;
  bool ended_ = false;
};

}  // namespace kindlb::apiserver
