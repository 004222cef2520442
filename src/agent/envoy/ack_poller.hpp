#pragma once
// Asks Envoy again and again until it has decided about the newest generation. Quick at first
// (a warm Envoy takes a few milliseconds), then slower. Runs on the loop; not thread-safe.

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
  /// `final`: no unit is left pending; it is not called again.
  using OnChange = std::function<void(const AckStatuses&, bool final)>;

  /// `history` must outlive it and not change while it runs.
  AckPoller(Loop& loop, AdminClient& client, const XdsHistory& history)
      : loop_(loop), client_(client), history_(history) {}

  /// Calls `on_change` from the moment Envoy has settled the generation until no unit is left
  /// pending. `before`: the stats when the generation was written; default ones if Envoy started
  /// since.
  void start(std::vector<protocol::Unit> units, AdminStats before, OnChange on_change);
  /// Gives up: `on_change` is not called any more.
  void stop();

  const AdminStats& latest() const { return latest_; }
  /// As far as known: for whoever cannot wait longer.
  const AckStatuses& statuses() const { return statuses_; }
  /// Envoy has ended: what was known of it is worth nothing now.
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
  AdminStats latest_;
  AdminDump dump_;
  AckStatuses statuses_;
  OnChange on_change_;
  Loop::TimerId timer_ = 0;
  unsigned polls_ = 0;
};

}  // namespace kindlb::agent
