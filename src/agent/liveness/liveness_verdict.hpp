#pragma once
// Is an Envoy that does not answer hung, or only slow? Pure.
//
// Silence alone does not tell: on a machine that is short of processors an answer may take seconds,
// and to kill a slow Envoy makes everything worse. But a thread that has been asked and could go on
// is runnable, or has run. One that sleeps on, or has been stopped, will not answer.

#include "liveness/threads.hpp"

#include <chrono>
#include <vector>

namespace kindlb::agent {

/// Envoy's threads while a question is unanswered.
struct Unanswered {
  std::vector<Thread> first;   ///< when they were first looked at
  std::vector<Thread> before;  ///< at the last look but one
  std::vector<Thread> now;
  std::chrono::milliseconds waited{};  ///< since the question
};

/// How long a thread may wait for a disk.
inline constexpr std::chrono::seconds kDiskPatience{10};
/// How long workers may use the processor without an answer, if they use that much of it: no turn
/// of Envoy's event loop takes nearly as long.
inline constexpr std::chrono::seconds kBusyPatience{30};
inline constexpr std::chrono::seconds kBusyTime{2};

bool is_hung(const Unanswered& look);

}  // namespace kindlb::agent
