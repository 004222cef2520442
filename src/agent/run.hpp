#pragma once
// The agent as the container's first process: paths, signals, children.

namespace kindlb::agent {

/// Serves until SIGTERM or SIGINT; the exit code.
int run_in_container();

}  // namespace kindlb::agent
