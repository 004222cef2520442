#pragma once
// Bodies of our writes. Field order is fixed: equal values give equal bytes.

#include "kindlb/core/result.hpp"
#include "kindlb/core/service.hpp"
#include "kindlb/kube/api.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace kindlb::kube {

/// Server-side apply configuration for /status. The ingress list is always there: an explicit empty
/// one clears what another manager holds a share of too, leaving it out would only give up ours.
std::string encode_apply(const core::StatusApply& apply);

/// A core/v1 Event, which `kubectl describe service` shows.
/// The same news about the same Service has the same name, so that it is told once and counted.
std::string event_name(const core::Service& about, const core::EventNote& note);
std::string encode_event(const core::Service& about, const core::EventNote& note,
                         core::Timestamp now);
/// A merge patch that says it happened again.
std::string encode_event_count(std::uint64_t count, core::Timestamp now);

/// What to send to take our things off a Service as it was just read.
struct ReleaseStep {
  bool gone = false;             ///< another object by now: nothing of ours is left
  std::string patch;             ///< JSON patch; empty: there is nothing to take off
  std::string resource_version;  ///< the version the patch insists on
};
core::Result<ReleaseStep> plan_release(std::string_view service_json, const ReleasePatch& wanted);

/// `text` without the bytes beyond `limit`, never cutting a UTF-8 sequence in two.
std::string truncated(const std::string& text, std::size_t limit);

}  // namespace kindlb::kube
