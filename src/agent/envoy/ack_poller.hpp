#pragma once
// Polls Envoy's admin interface until Envoy has ACKed or NACKed the newest xDS version for each of
// a set of units. File-based xDS has no stream on which Envoy could acknowledge, so its statistics
// and config dump are the only sources; envoy/admin.hpp interprets them.
//
// A poll costs about 1.5 ms on the unix socket and a warm Envoy applies an update in a few
// milliseconds, so polling is fast at first and slows down. Runs on the loop, one run at a time;
// not thread-safe. Loop, client and history must outlive it.

#include "envoy/admin.hpp"
#include "envoy/admin_client.hpp"
#include "loop.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace kindlb::agent {

class AckPoller {
 public:
  using AckStatuses = std::map<std::string, AckStatus>;  ///< by unit
  /// `final`: no unit is pending any more; this was the last call of the run. The callee may start
  /// a new run or stop this one.
  using OnChange = std::function<void(const AckStatuses&, bool final)>;

  /// `history` must not change during a run: statuses are relative to its newest version.
  AckPoller(Loop& loop, AdminClient& client, const XdsHistory& history)
      : loop_(loop), client_(client), history_(history) {}

  /// Start a run; a former one is abandoned. Calls `on_change` after every poll from the moment
  /// Envoy has processed the newest version until no unit is pending. `before`: the statistics when
  /// that version was written, to tell new rejections from old ones; default ones if Envoy has
  /// started since.
  void start(std::vector<protocol::Unit> units, AdminStats before, OnChange on_change);
  /// Abandon the run without calling `on_change`. Keeps what is known.
  void stop();

  const AdminStats& latest() const { return latest_; }
  /// The statuses of the last poll, for an update that has timed out.
  const AckStatuses& statuses() const { return statuses_; }
  /// Abandon the run and forget all statistics: Envoy has exited, and a new one counts from zero.
  void reset();

 private:
  void poll();
  void poll_later();
  void fetch(const std::string& path, std::function<bool(const std::string&)> use,
             std::function<void()> next);
  void got_stats();
  void evaluate();
  void drop_removed_clusters();

  Loop& loop_;
  AdminClient& client_;
  const XdsHistory& history_;
  std::vector<protocol::Unit> units_;
  std::string path_;
  AdminStats before_;
  AdminStats latest_;  ///< kept across runs: the next update's `before`
  AdminDump dump_;
  AckStatuses statuses_;
  OnChange on_change_;
  Loop::TimerId timer_ = 0;
  unsigned polls_ = 0;
};

}  // namespace kindlb::agent
