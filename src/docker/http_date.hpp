#pragma once
// "Mon, 16 Nov 2026 03:17:48 GMT" (RFC 9110 §5.6.7) to seconds since 1970. Pure; knows no locale.

#include <cstdint>
#include <optional>
#include <string_view>

namespace kindlb::docker {

/// Parse the preferred format (IMF-fixdate), which is what Go servers send; nothing for others.
std::optional<std::int64_t> parse_http_date(std::string_view text);

}  // namespace kindlb::docker
