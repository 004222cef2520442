#pragma once
// A Service on a proxy as the fleet knows it: how far its configuration has got on the way to
// Envoy. It is neither what is asked of the agent (protocol::Unit) nor what the agent reports
// (protocol::UnitState); both move it on. A value, without I/O.
//
// Invariants:
//  - At most one request is of interest at a time. An answer counts only if it carries the id of
//    the newest one, so answers to superseded or lost requests change nothing.
//  - `acknowledged` comes from the agent alone (confirm, adopt), never from a guess: Serving=True
//    is written by it (docs/contract.md §2).
//  - Once a release has begun, no answer to an Apply counts.

#include "kindlb/core/plan.hpp"
#include "kindlb/protocol/protocol.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kindlb::controller {

class AssignedUnit {
 public:
  AssignedUnit(std::string owner, std::size_t watches);

  const std::string& owner() const { return owner_; }  ///< "cluster/namespace/name"
  std::size_t watches() const { return watches_; }     ///< see core::watches_of
  bool releasing() const { return release_id_ != 0; }
  std::uint64_t release_id() const { return release_id_; }  ///< of the newest Release; 0: none
  /// What the planner sees of the unit itself; what it sees of the proxy is not filled in.
  const core::ProxyView& view() const { return view_; }
  /// Return whether this request is the newest one and not answered yet.
  bool awaits(std::uint64_t request) const;

  void set_watches(std::size_t watches) { watches_ = watches; }
  void begin_apply(std::uint64_t request, const core::Revision& revision,
                   const std::vector<core::Cidr>& addresses, bool probed);
  /// Begin the release, or repeat it under a new id.
  void begin_release(std::uint64_t request);
  /// Take in the agent's answer. False: it answers something else, and nothing has changed.
  bool confirm(const protocol::Applied& applied);
  bool reject(const protocol::Rejected& rejected);
  /// Replace what was believed by what the agent reports.
  void adopt(const protocol::UnitState& reported);

  /// Let the planner send a rejected revision, or probe an unreachable one, once more.
  void forget_failure();
  /// The channel is lost: no answer will come, so the revision counts as not sent.
  void forget_sent() { view_.sent = {}; }
  /// Envoy was restarted, or its agent does not know the unit.
  void forget_acknowledged() { view_.acknowledged = {}; }

 private:
  void forget_rejection();

  std::string owner_;
  std::size_t watches_;
  std::uint64_t release_id_ = 0;
  std::uint64_t apply_id_ = 0;  ///< of the newest Apply
  core::ProxyView view_;
};

}  // namespace kindlb::controller
