#pragma once
// What the EndpointSlice controller of a real cluster does, in the small: for each Service with a
// selector, one slice per address family with the pods it selects. Pure; the server's thread calls
// it and writes what differs.

#include "json.hpp"
#include "storage/store.hpp"

#include <string>
#include <vector>

namespace kindlb::apiserver {

/// Marks the slices that are kept here; everybody else's are left alone.
inline constexpr const char* kSliceManager = "endpointslice-controller.k8s.io";

/// The slices this Service should have, by name, without what the server adds.
std::vector<Json> desired_slices(const Json& service, const std::vector<ObjectPtr>& pods);

/// What desired_slices() may call the slices of this Service.
std::vector<std::string> slice_names(const std::string& service);

/// Whether a stored slice already says what `wanted` does.
bool is_up_to_date(const Json& stored, const Json& wanted);

}  // namespace kindlb::apiserver
