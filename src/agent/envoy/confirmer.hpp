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

class Confirmer {
 public:
  using Judgements = std::map<std::string, Judgement>;  ///< by unit
  /// `final`: no unit is left waiting; it is not called again.
  using Seen = std::function<void(const Judgements&, bool final)>;

  /// `history` must outlive it and not change while it runs.
  Confirmer(Loop& loop, AdminClient& client, const XdsHistory& history)
      : loop_(loop), client_(client), history_(history) {}

  /// Calls `seen` from the moment Envoy has settled the generation until no unit is left waiting.
  /// `before`: the stats when the generation was written; default ones if Envoy started since.
  void start(std::vector<protocol::Unit> units, AdminStats before, Seen seen);
  /// Gives up: `seen` is not called any more.
  void stop();

  const AdminStats& latest() const { return latest_; }
  /// As far as known: for whoever cannot wait longer.
  const Judgements& judgements() const { return judgements_; }
  /// Envoy has ended: what was known of it is worth nothing now.
  void forget();

 private:
  void poll();
  void poll_later();
  void ask(const std::string& path, std::function<bool(const std::string&)> use,
           std::function<void()> next);
  void got_stats();
  void got_everything();
  void forget_removed();

  Loop& loop_;
  AdminClient& client_;
  const XdsHistory& history_;
  std::vector<protocol::Unit> units_;
  std::string path_;
  AdminStats before_;
  AdminStats latest_;
  AdminDump dump_;
  Judgements judgements_;
  Seen seen_;
  Loop::TimerId timer_ = 0;
  unsigned polls_ = 0;
};

}  // namespace kindlb::agent
