#pragma once
// The snapshot that Envoy's files hold now, and the versions before it. Writes a new snapshot as
// the next version, only those files that differ.
//
// Invariant: the history changes only after the files have been written. It is what AckPoller
// compares with what Envoy reports, so it must not run ahead of the files. Not thread-safe.

#include "envoy/xds.hpp"
#include "files.hpp"

namespace kindlb::agent {

class XdsPublisher {
 public:
  explicit XdsPublisher(XdsFiles files) : files_(std::move(files)) {}

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
  /// Delete endpoint files that the snapshot does not name. Call it only after Envoy has dropped
  /// the clusters that watched them.
  void prune() const { files_.prune(history_.snapshot()); }

  bool is_started() const { return history_.version() != 0; }
  const XdsSnapshot& snapshot() const { return history_.snapshot(); }
  const XdsHistory& history() const { return history_; }

 private:
  core::Result<void> write(XdsHistory history);

  XdsFiles files_;
  XdsHistory history_;
};

}  // namespace kindlb::agent
