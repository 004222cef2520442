#pragma once
// What to do when a proxy cannot serve what was planned: choose another address, use node ports
// instead of the direct path, or try the same again later. Pure: what earlier passes have left and
// what this pass has seen, in; what to remember and what to do, out.
//
// Invariants:
// - An address in the status is never given up, because clients know it (docs/contract.md §2).
// - A Service that serves is left alone: an endpoint that stops answering is no failure of the load
//   balancer.

#include "kindlb/core/plan.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace kindlb::core {

/// What a pass has seen. Borrowed for the call.
struct Attempt {
  const Service& service;
  const Plan& plan;
  const ProxyView& proxy;  ///< as the plan saw it
};

struct Recovery {
  ServiceMemory memory;   ///< for the next pass
  std::string warning;    ///< set: what went wrong, for the log
  std::string good_news;  ///< set: what works again, for the log
  /// Addresses given up because another host answers for one of them. Not to be chosen for a while.
  std::vector<IpAddress> conflicting;
  bool retry_later = false;  ///< after the back-off, with the proxy's failure forgotten
  bool plan_again = false;   ///< at once, with the proxy's failure forgotten
  /// Call direct_retry_due() after this delay.
  std::optional<std::chrono::milliseconds> retry_direct_after;

  bool operator==(const Recovery&) const = default;
};

/// Return what to remember of a plan that is being carried out: its reservations, and what it
/// found to be reported.
ServiceMemory remember(ServiceMemory memory, const Plan& plan);

/// Return what to remember once the API has answered the plan's write.
ServiceMemory remember_answer(ServiceMemory memory, const Plan& plan, const Service& answer);

/// Return what follows from an attempt. REQUIRES: `random` in [0, 1), for the delay of a retry.
Recovery recover(ServiceMemory memory, const Attempt& attempt, double random);

}  // namespace kindlb::core
