#pragma once
// What keeps a proxy from serving although its container runs. Each has its own witness, and ends
// when that witness takes it back: the engine, the agent itself, or the agent's heartbeats.

#include <string>

namespace kindlb::controller {

struct ProxyFaults {
  bool paused = false;          ///< says the engine
  bool detached = false;        ///< from its network, says the engine
  std::string silence;          ///< why the agent counts as dead; empty: it does not
  std::string network_problem;  ///< what the agent cannot restore

  bool any() const { return paused || detached || !silence.empty() || !network_problem.empty(); }
  /// Return the cause in words, for the conditions: the one that explains the others.
  std::string text() const {
    if (paused) return "its container is paused";
    if (detached) return "its container is disconnected from its network";
    return silence.empty() ? network_problem : silence;
  }
  bool operator==(const ProxyFaults&) const = default;
};

}  // namespace kindlb::controller
