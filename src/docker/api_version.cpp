#include "api_version.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace kindlb::docker {

std::optional<ApiVersion> ApiVersion::parse(std::string_view text) {
  ApiVersion version;
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.major);
  if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') return std::nullopt;
  const auto minor = std::from_chars(major.ptr + 1, end, version.minor);
  if (minor.ec != std::errc{} || minor.ptr != end) return std::nullopt;
  return version;
}

std::string ApiVersion::text() const {
  return fmt::format("{}.{}", major, minor);
}

// Not min(newest, newest) alone: the ranges may not overlap at all, at either end. Docker 29 raised
// the oldest version to 1.44, for instance, and an engine older than 19.03 lacks what we need.
core::Result<ApiVersion> negotiate(const EngineVersion& engine) {
  const auto refuse = [](std::string detail) {
    return core::Error{core::ErrorKind::Invalid, "negotiate the API version with Docker",
                       std::move(detail)};
  };
  if (engine.newest < kOldestApi)
    return refuse(
        fmt::format("Docker {} supports API versions up to {}, kindlb needs {} or newer: upgrade "
                    "Docker to 19.03 or newer",
                    engine.version, engine.newest.text(), kOldestApi.text()));
  if (engine.oldest > kNewestApi)
    return refuse(
        fmt::format("Docker {} supports no API version below {}, this kindlb none above {}: "
                    "upgrade kindlb, or start the engine with DOCKER_MIN_API_VERSION={}",
                    engine.version, engine.oldest.text(), kNewestApi.text(), kNewestApi.text()));
  return std::min(engine.newest, kNewestApi);
}

}  // namespace kindlb::docker
