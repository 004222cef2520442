#pragma once
// Which Services kindlb is responsible for (loadBalancerClass: KEP-1959, docs/contract.md §1).
// Pure.

#include "kindlb/core/policy.hpp"
#include "kindlb/core/service.hpp"

#include <string>

namespace kindlb::core {

enum class Claim {
  NotOurs,         ///< leave it alone: no write, no container, no Event
  Ours,            ///< serve it, or refuse it in its conditions
  ReleaseDeleted,  ///< was ours and is being deleted: tear down, then drop the finalizer
  ReleaseChanged,  ///< was ours, but its type or class changed: tear down and remove the fields
                   ///< we own
};

/// Decide by type, class and deletion timestamp. A Service of another class is never touched.
Claim claim_of(const Service& service, const Policy& policy);

/// Return whether kindlb has written to the Service. The proof is the annotation
/// kindlb.dev/observed, not the finalizer: all load-balancer controllers use that name.
bool was_ours(const Service& service);

bool has_finalizer(const Service& service);

/// Hash the load-balancer-related spec fields and annotations: the value of kindlb.dev/observed
/// once acted on. Services have no metadata.generation, so this hash answers "has the spec changed
/// since it was last acted on?", also across a restart. A profile may add one annotation to it.
///
/// The value is persisted, and an upgrade must not make Services look changed: a field that is
/// added here counts only where it differs from what its absence means.
std::string observed_hash(const Service& service, const Policy& policy);

}  // namespace kindlb::core
