#pragma once
// `kindlb-agent connect`, which kindlb runs by `docker exec`: relays standard input and output to
// the control socket of the agent in the same container. Knows nothing of the protocol.

#include <string>

namespace kindlb::agent {

/// Relay until the agent closes its side. The end of standard input is passed on as a half-close,
/// so that answers to the last request still come back. Return the exit code.
int relay_stdio(const std::string& socket_path);

}  // namespace kindlb::agent
