#pragma once
// The commands. Each blocks until it is done and returns the exit code of the process: 0, 1 if
// something failed on the way, 2 if it could not start (one line on standard error says what to
// do).

#include "options.hpp"

namespace kindlb::app {

/// Serve Services until a signal.
int run(const Options& options);
/// Needs neither a cluster nor an engine.
int plan(const Options& options);
int cleanup(const Options& options);
/// Needs a cluster, but no engine.
int conformance(const Options& options);
int sandbox(const Options& options);
/// Scale, kill, ready, unready: change a sandbox that another process runs.
int sandbox_command(const Options& options);

/// Start a sandbox and show what happens in it.
int demo(const Options& options);

}  // namespace kindlb::app
