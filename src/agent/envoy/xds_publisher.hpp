#pragma once
// The snapshot that Envoy's files hold now, and the versions before it. Writes a new snapshot as
// the next version, only those files that differ.
//
// Invariant: the history changes only after the files have been written. It is what AckPoller
// compares with what Envoy reports, so it must not run ahead of the files.
//
// The agent's own listener is beside those of the units in the file, and in the history, but in no
// snapshot that callers see. It is not in the first version: an Envoy built without its filter
// cannot read a file that names it, and would lose all listeners with it. So it is offered by
// itself once Envoy runs, and kept, also for the next Envoy, only if that one accepts it. Not
// thread-safe.

#include "envoy/xds.hpp"
#include "files.hpp"

#include <optional>

namespace kindlb::agent {

class XdsPublisher {
 public:
  /// `own`: the agent's own listener, if it has one.
  explicit XdsPublisher(XdsFiles files, std::optional<protocol::Resource> own = {})
      : files_(std::move(files)), own_(std::move(own)) {}

  /// Write all files anew, for an Envoy that has not been started: it exits when one that its
  /// bootstrap names is missing. Versions start at 1 with an empty history, since a new Envoy knows
  /// none. A failure is logged; then the files of a former run are still there.
  void start(const XdsSnapshot& snapshot);
  /// Write the files that differ, as the next version. After an error no file was replaced, and the
  /// history still tells what Envoy reads. REQUIRES: start() was called.
  core::Result<void> publish(const XdsSnapshot& snapshot);
  /// Write the listeners once more, as the next version: Envoy tries those again that it could not
  /// open, and leaves the others alone.
  core::Result<void> renew_listeners();
  /// Write files again that somebody has damaged, before an Envoy reads all of them at its start. A
  /// failure is logged.
  void repair() const;
  /// Publish the agent's own listener if Envoy has not decided about it: return it then. To be
  /// followed by settle_own().
  std::optional<protocol::Resource> offer_own();
  /// Keep the listener that was offered, or withdraw it for good. REQUIRES: it was offered.
  void settle_own(bool accepted);
  /// Envoy has exited while it had not decided. The listener is withdrawn until it is offered once
  /// more, the second time for good: it may be what ended Envoy.
  void abandon_own();
  bool is_own_accepted() const { return own_state_ == Own::Accepted; }
  /// Delete endpoint files that the snapshot does not name. Call it only after Envoy has dropped
  /// the clusters that watched them.
  void prune() const { files_.prune(history_.snapshot()); }

  bool is_started() const { return history_.version() != 0; }
  const XdsSnapshot& snapshot() const { return snapshot_; }
  const XdsHistory& history() const { return history_; }

 private:
  enum class Own { Undecided, Offered, Accepted, Refused };

  XdsSnapshot with_own(XdsSnapshot snapshot) const;
  core::Result<void> write(XdsHistory history);

  XdsFiles files_;
  XdsSnapshot snapshot_;  ///< without the agent's own listener
  XdsHistory history_;
  std::optional<protocol::Resource> own_;
  Own own_state_ = Own::Undecided;
  unsigned abandoned_ = 0;
};

}  // namespace kindlb::agent
