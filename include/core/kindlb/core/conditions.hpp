#pragma once
// The conditions of KEP-4631 (docs/contract.md §2): Serving and Provisioning on every Service we
// own, Degraded on some, with their transition times. Pure: the previous status and the time are
// inputs.
//
// Invariants:
// - A status that is already right yields no write, so that a resync costs nothing.
// - lastTransitionTime never moves backwards, and moves by at least a second when it must move: the
//   API stores whole seconds, and clients compare times to see that a change was observed.
// - While Serving is True its message is kept unless new semantics take effect, or every change of
//   the endpoints would be a write.

#include "kindlb/core/report.hpp"
#include "kindlb/core/service.hpp"
#include "kindlb/core/verdict.hpp"

#include <optional>
#include <string>
#include <vector>

namespace kindlb::core {

/// How far the work for one Service is: the rows of the table in docs/contract.md §2.
enum class Phase {
  Refused,        ///< Provisioning False/Complete, Serving False/Unsupported, no ingress
  Working,        ///< Provisioning True, Serving False/Provisioning
  Updating,       ///< Provisioning True, Serving True: the previous spec is still served
  Serving,        ///< Provisioning False/Complete, Serving True
  Failing,        ///< Provisioning True (a retry is scheduled), Serving False/Infrastructure
  UpdateFailing,  ///< as Failing, but the previous spec is still served
  GivenUp,  ///< Provisioning False/Complete, Serving False/Infrastructure: no retry is scheduled
};

/// What the conditions are derived from.
struct Progress {
  Phase phase = Phase::Working;
  std::string message;           ///< of Serving when it is False, else of Provisioning
  std::vector<Ingress> ingress;  ///< only used in phase Serving; else the reported one stays
  std::vector<Reason> degraded;  ///< reported with Serving
  bool unchanged = false;        ///< phase Serving: nothing a client can see has changed
};

/// Return the complete status that reports `progress`, for a Service as it was reported so far
/// (as_reported). The time of Provisioning moves when `hash` differs from the one last acted on (a
/// change was seen), that of Serving when new semantics took effect; each also when its status
/// flips. What was acted on and told to clients is in `report` and in the Service, each of which
/// may lack something: so neither what others do to the status nor a lost answer moves a time.
StatusApply status_for(const Service& service, const std::string& hash, const Progress& progress,
                       Timestamp now, const std::optional<Report>& report = std::nullopt);

/// The same, or nothing if the Service has this status already.
std::optional<StatusApply> next_status(const Service& service, const std::string& hash,
                                       const Progress& progress, Timestamp now);

/// Return the Events for the difference between the Service's status and `write`.
std::vector<EventNote> events_for(const Service& before, const StatusApply& write);

const Condition* find_condition(const std::vector<Condition>& conditions, const std::string& type);
bool is_true(const std::vector<Condition>& conditions, const std::string& type);
/// Return whether the load balancer serves and nothing is being changed about it.
bool is_served(const std::vector<Condition>& conditions);

}  // namespace kindlb::core
