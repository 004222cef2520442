#pragma once
// The agent as pid 1 of the container: the paths of the proxy image, signals, and the reaping of
// children. Everything that tests replace is a parameter of Agent instead.

namespace kindlb::agent {

/// Serve until SIGTERM or SIGINT, as `docker stop` sends it. Return the exit code: 1 if the agent
/// could not start.
int run_in_container();

}  // namespace kindlb::agent
