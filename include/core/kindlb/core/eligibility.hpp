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

/// Decide by type, class and deletion timestamp. A Service of another class is touched only if it
/// has a mark with its own uid: then kindlb served it before its class changed.
Claim claim_of(const Service& service, const Policy& policy);

/// Return whether kindlb has written to the Service. The proof is the mark, the annotation
/// kindlb.dev/observed, not the finalizer: all load-balancer controllers use that name. People copy
/// annotations along with manifests, so a mark with the uid of another Service is no mark. Marks of
/// previous releases have no uid: such a mark counts beside a finalizer and conditions, because
/// conditions are not copied (the API server ignores the status of an object that is created).
bool was_ours(const Service& service);

/// Return the mark of a Service: `hash` (observed_hash), a dot, and its uid.
std::string mark_of(const Service& service, const std::string& hash);
/// Return the hash in a mark, of whichever form.
std::string mark_hash(const std::string& mark);
/// Return the hash that was last acted on; empty: none, or the Service was not ours.
std::string last_observed(const Service& service);

bool has_finalizer(const Service& service);

/// Hash the load-balancer-related spec fields and annotations: part of kindlb.dev/observed once
/// acted on. Services have no metadata.generation, so this hash answers "has the spec changed
/// since it was last acted on?", also across a restart. A profile may add one annotation to it.
///
/// The value is persisted, and an upgrade must not make Services look changed: a field that is
/// added here counts only where it differs from what its absence means.
std::string observed_hash(const Service& service, const Policy& policy);

}  // namespace kindlb::core
