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
  /// none. A failure is logged.
  void start(const XdsSnapshot& snapshot);
  /// Write the files that differ, as the next version. False: no file was replaced, the failure was
  /// logged, and the history still tells what Envoy reads. REQUIRES: start() was called.
  bool publish(const XdsSnapshot& snapshot);
  /// Delete endpoint files that the snapshot does not name. Call it only after Envoy has dropped
  /// the clusters that watched them.
  void prune() const { files_.prune(history_.snapshot()); }

  bool is_started() const { return history_.version() != 0; }
  const XdsSnapshot& snapshot() const { return history_.snapshot(); }
  const XdsHistory& history() const { return history_; }

 private:
  XdsFiles files_;
  XdsHistory history_;
};

}  // namespace kindlb::agent
