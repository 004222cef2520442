#pragma once
// Where the agent learns what Envoy has decided about a set of units, as a seam: see ack_poller.hpp
// for the one that asks Envoy. One run at a time. Not thread-safe.

#include "envoy/admin.hpp"

#include <functional>
#include <vector>

namespace kindlb::agent {

class AckSource {
 public:
  /// `final`: no unit is pending any more; this was the last call of the run. The callee may start
  /// a new run or stop this one.
  using OnChange = std::function<void(const AckStatuses&, bool final)>;

  virtual ~AckSource() = default;

  /// Start a run; a former one is abandoned. Calls `on_change`, never from within start(), from the
  /// moment Envoy has processed the newest version until no unit is pending. `before`: the
  /// statistics when that version was written, to tell new rejections from old ones; default ones
  /// if Envoy has started since.
  virtual void start(std::vector<protocol::Unit> units, AdminStats before, OnChange on_change) = 0;
  /// Abandon the run without calling `on_change`. Keeps what is known.
  virtual void stop() = 0;
  /// Abandon the run and forget all statistics: Envoy has exited, and a new one counts from zero.
  virtual void reset() = 0;

  virtual const AdminStats& latest() const = 0;
  /// The statuses of the last poll, for an update that has timed out.
  virtual const AckStatuses& statuses() const = 0;
};

}  // namespace kindlb::agent
