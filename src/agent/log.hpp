#pragma once
// The agent's log: one short line on standard error, which `docker logs` shows. kindlb itself logs
// through the `log` module, a facade over spdlog; the agent must not link spdlog or fmt, since
// every proxy image carries it, and it needs neither levels nor sinks: it logs what changes for a
// Service, and what went wrong. Usable from any thread.

#include <string_view>

namespace kindlb::agent {

/// Write "kindlb-agent: LINE" with a single write(2).
void log(std::string_view line);

}  // namespace kindlb::agent
