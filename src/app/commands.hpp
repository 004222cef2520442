#pragma once
// What each sub-command does. All return the process's exit code: 0, 1 when something failed on the
// way, 2 when it could not begin (one line on standard error says what to do).

#include "options.hpp"

namespace kindlb::app {

int run(const Options& options);
/// Needs neither a cluster nor an engine.
int plan(const Options& options);
int cleanup(const Options& options);
/// Needs a cluster, but no engine.
int conformance(const Options& options);
int sandbox(const Options& options);
/// scale, kill, ready and unready, in a sandbox that runs elsewhere.
int sandbox_command(const Options& options);

/// A sandbox that shows itself.
int demo(const Options& options);

}  // namespace kindlb::app
