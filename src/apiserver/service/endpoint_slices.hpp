#pragma once
// The slices that a Service should have: one per IP family, with the pods it selects. Unlike those
// of a real cluster, slices have fixed names and no limit of 100 endpoints. Pure; the controller
// writes the difference.

#include "json.hpp"
#include "storage/store.hpp"

#include <string>
#include <vector>

namespace kindlb::apiserver {

/// Value of the label endpointslice.kubernetes.io/managed-by. Slices with another value are left
/// alone: users may write their own.
inline constexpr const char* kSliceManager = "endpointslice-controller.k8s.io";

/// Return the desired slices; none for Services without a selector. `pods`: those of its namespace.
std::vector<Json> desired_slices(const Json& service, const std::vector<ObjectPtr>& pods);

/// Return all names that desired_slices() may use for this Service.
std::vector<std::string> slice_names(const std::string& service);

/// Return whether a stored slice equals the desired one, apart from what the server adds.
bool is_up_to_date(const Json& stored, const Json& wanted);

}  // namespace kindlb::apiserver
