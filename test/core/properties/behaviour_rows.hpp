#pragma once
// The rows of the tables of docs/contract.md as lives that lead to them, each with what the Service
// must say in the end. Used twice: against core alone, and with every write of every life sent to a
// real API server.

#include "core/plan/plan_support.hpp"

#include <functional>
#include <string>
#include <vector>

namespace kindlb::test {

struct BehaviourRow {
  std::string name;                 ///< as the table has it
  core::Service asks;               ///< a copy of it is born
  std::function<void(Life&)> live;  /// what then happens
  std::string provisioning;         ///< "False/Complete"
  std::string serving;
  std::string degraded = "absent";
  bool filled = false;  ///< .status.loadBalancer
};

/// §2: what the conditions say at each moment.
std::vector<BehaviourRow> condition_rows();

/// §3: refuse, degrade, or serve; each request by default, required, and where the capability is
/// there.
std::vector<BehaviourRow> verdict_rows();

/// §7: misbehaviour on demand.
std::vector<BehaviourRow> fault_rows();

/// All of them.
std::vector<BehaviourRow> behaviour_rows();

}  // namespace kindlb::test
