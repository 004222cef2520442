#pragma once
// Times as the API writes them (RFC 3339, metav1.Time): whole seconds, UTC. Pure; no locale.

#include "kindlb/core/service.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace kindlb::kube {

/// "2026-11-16T03:14:17Z"
std::string format_time(core::Timestamp time);
/// Parse a time. Fractions are accepted and dropped, offsets are applied. Nothing when the text is
/// no such time.
std::optional<core::Timestamp> parse_time(std::string_view text);

}  // namespace kindlb::kube
