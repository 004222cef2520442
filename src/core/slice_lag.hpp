#pragma once
// Have the EndpointSlices of a Service followed its last change? The controller that writes them
// sees the change when we do and takes its time (up to 30 s: KEP-4631, test plan). Until then a
// renamed port has no endpoints, and one with a new target port has the old number. Pure. Private
// to core.

#include "kindlb/core/backends.hpp"
#include "kindlb/core/service.hpp"

#include <string>
#include <vector>

namespace kindlb::core {

/// How far the slices are behind.
enum class SliceLag {
  None,
  /// A port is missing that may never come: a target port by a name that no pod has. So is the
  /// first slice of the Service.
  Possible,
  /// They describe an earlier spec: an up-to-date controller would have written something else.
  Certain
};

struct SliceState {
  SliceLag lag = SliceLag::None;
  std::string port;   ///< the first that is missing; empty: there is no slice at all
  std::string stale;  ///< the number that the slices still have for it; empty: none

  bool operator==(const SliceState&) const = default;
};

/// Compare the slices with the ports that are to be served. Only what the EndpointSlice controller
/// keeps counts, and only while somebody is ready: there is nothing to wait for without a selector,
/// in slices made by hand (whose numbers may differ from targetPort), or behind a Service without
/// endpoints, which is served with nobody behind it (docs/contract.md §2).
SliceState slice_state(const Service& service, const std::vector<ServicePort>& served,
                       const Slices& slices);

}  // namespace kindlb::core
