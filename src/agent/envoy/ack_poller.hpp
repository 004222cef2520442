#pragma once
// Polls Envoy's admin interface until Envoy has ACKed or NACKed the newest xDS version for each of
// a set of units. File-based xDS has no stream on which Envoy could acknowledge, so its statistics
// and config dump are the only sources; envoy/admin.hpp interprets them.
//
// A poll costs about 1.5 ms on the unix socket and a warm Envoy applies an update in a few
// milliseconds, so polling is fast at first and slows down; `on_change` is called after every poll.
// Runs on the loop; not thread-safe. Loop and history must outlive it.

#include "envoy/ack_source.hpp"
#include "envoy/admin_client.hpp"
#include "loop.hpp"

#include <functional>
#include <string>
#include <vector>

namespace kindlb::agent {

class AckPoller final : public AckSource {
 public:
  /// `admin_socket`: as AdminClient takes it. `history` must not change during a run: statuses are
  /// relative to its newest version.
  AckPoller(Loop& loop, std::string admin_socket, const XdsHistory& history)
      : loop_(loop), client_(loop, std::move(admin_socket)), history_(history) {}

  void start(std::vector<protocol::Unit> units, AdminStats before, OnChange on_change) override;
  void stop() override;
  void reset() override;
  const AdminStats& latest() const override { return latest_; }
  const AckStatuses& statuses() const override { return statuses_; }

 private:
  void poll();
  void poll_later();
  void fetch(const std::string& path, std::function<bool(const std::string&)> use,
             std::function<void()> next);
  void got_stats();
  void evaluate();
  void drop_removed_clusters();

  Loop& loop_;
  AdminClient client_;
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
