#pragma once
// Whose Service is it (KEP-1959, docs/contract.md §1).

#include "kindlb/core/policy.hpp"
#include "kindlb/core/service.hpp"

#include <string>

namespace kindlb::core {

enum class Claim {
  NotOurs,         ///< invisible: no write, no container, no event
  Ours,            ///< to be served or refused
  ReleaseDeleted,  ///< was ours and is being deleted: tear down, then drop the finalizer
  ReleaseChanged,  ///< was ours and lives on as something else: tear down and take back what we
                   ///< wrote
};

Claim claim_of(const Service& service, const Policy& policy);

/// Our annotation proves ownership; the finalizer does not (others use the same name).
bool was_ours(const Service& service);

bool has_finalizer(const Service& service);

/// Hash of the load-balancer-related fields and of the kindlb.dev/ annotations: the value of
/// kindlb.dev/observed once acted on. Services have no generation; this answers "has anything
/// changed since?", also across a restart. The policy may make another annotation matter.
std::string observed_hash(const Service& service, const Policy& policy);

}  // namespace kindlb::core
