#pragma once
// Encodes the bodies of our writes. Field order is fixed, so equal values give equal bytes. Text
// from elsewhere (Envoy's, Docker's) that is not UTF-8 is repaired rather than refused. Pure.

#include "kindlb/core/result.hpp"
#include "kindlb/core/service.hpp"
#include "kindlb/kube/api.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace kindlb::kube {

/// Return the server-side apply configuration for /status. The ingress list is always present: an
/// explicit empty one also clears entries that another manager co-owns (the list is atomic, and the
/// apply is forced); leaving it out would only give up our share.
std::string encode_apply(const core::StatusApply& apply);

/// Return the name of a core/v1 Event. It is a hash of what the Event says about which Service, so
/// that a repetition collides (409) with the first one and can be counted there.
std::string event_name(const core::Service& about, const core::EventNote& note);
/// Encode a core/v1 Event, as `kubectl describe service` shows it. Messages are cut at 1024 bytes,
/// the limit of events.k8s.io/v1.
std::string encode_event(const core::Service& about, const core::EventNote& note,
                         core::Timestamp now);
/// Encode a merge patch that records another occurrence.
std::string encode_event_count(std::uint64_t count, core::Timestamp now);

/// The patch that removes our fields from a Service as it was just read.
struct ReleaseStep {
  bool gone = false;             ///< the name belongs to another object: nothing of ours is left
  std::string patch;             ///< JSON patch; empty: there is nothing to remove
  std::string resource_version;  ///< the version the patch tests for
};
/// Plan the patch. It begins with tests of uid and resourceVersion: list elements are removed by
/// index, and an index is only right for the very version it was computed from.
core::Result<ReleaseStep> plan_release(std::string_view service_json, const ReleasePatch& wanted);

/// Return `text` without the bytes beyond `limit`, never cutting a UTF-8 sequence in two.
std::string truncated(const std::string& text, std::size_t limit);

}  // namespace kindlb::kube
