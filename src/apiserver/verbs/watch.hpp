#pragma once
// One watch: what it wants, and the stream of lines that answers it. A stream belongs to one
// thread.

#include "storage/store.hpp"
#include "verbs/fault_injector.hpp"
#include "verbs/selectors.hpp"

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace kindlb::apiserver {

struct WatchOptions {
  const Resource* resource = nullptr;
  std::string ns;
  LabelSelector labels;
  FieldSelector fields;
  /// Nothing: begin with the state of now, as events.
  std::optional<Revision> after;
  bool initial_events = false;  ///< the state of now, and a bookmark that says so
  bool bookmarks = false;
  bool as_table = false;
  std::chrono::seconds timeout{0};
};

class WatchStream {
 public:
  WatchStream(Store& store, FaultInjector& faults, WatchOptions options);

  /// Lines to send: empty when nothing happened for a moment; nothing when the watch is over. Never
  /// much more than fits the network's buffers: what a slow client has not read yet waits in the
  /// store, and is gone (410) when that has moved on too far.
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
  Revision position_ = 0;
  std::vector<ObjectPtr> initial_;  ///< the state of now, as far as it is not told yet
  std::size_t initial_sent_ = 0;
  bool mark_initial_end_ = false;  ///< its end is to be told, too
  std::uint64_t watch_drops_;
  Clock::time_point deadline_;
  Clock::time_point next_bookmark_;
  bool ended_ = false;
};

}  // namespace kindlb::apiserver
