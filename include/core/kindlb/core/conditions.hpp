#pragma once
// The two conditions every Service of ours carries and the third that some do (KEP-4631), with
// their transition times. Pure: the previous status and the moment are given. A status that is
// already right yields no write.

#include "kindlb/core/service.hpp"
#include "kindlb/core/verdict.hpp"

#include <optional>
#include <string>
#include <vector>

namespace kindlb::core {

/// Where the work for one Service stands: the table of docs/contract.md §2, row by row.
enum class Phase {
  Refused,        ///< Provisioning False/Complete, Serving False/Unsupported, no ingress
  Working,        ///< Provisioning True, Serving False/Provisioning
  Updating,       ///< Provisioning True, Serving True: the former semantics are being served
  Serving,        ///< Provisioning False/Complete, Serving True
  Failing,        ///< Provisioning True (a retry is scheduled), Serving False/Infrastructure
  UpdateFailing,  ///< as Failing, but the former semantics are still served
  GivenUp,  ///< Provisioning False/Complete, Serving False/Infrastructure: until something changes
};

struct Progress {
  Phase phase = Phase::Working;
  std::string message;           ///< for people: of Serving when not serving, else of Provisioning
  std::vector<Ingress> ingress;  ///< what is true now; only used where the stage fills it
  std::vector<Reason> degraded;  ///< reported with Serving
  bool unchanged = false;        ///< Serving: the very same was served all the time
};

/// The write that makes the Service's status say `standing`, or nothing if it says so already.
/// Provisioning's time moves when `hash` differs from the annotation, Serving's when new semantics
/// took effect; each by at least a second.
std::optional<StatusApply> next_status(const Service& service, const std::string& hash,
                                       const Progress& progress, Timestamp now);

/// The Events that tell the difference between the Service's status and the write.
std::vector<EventNote> events_for(const Service& before, const StatusApply& write);

const Condition* find_condition(const std::vector<Condition>& conditions, const std::string& type);
bool is_true(const std::vector<Condition>& conditions, const std::string& type);

}  // namespace kindlb::core
