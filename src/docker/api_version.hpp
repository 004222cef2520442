#pragma once
// Engine API versions ("1.41") as comparable values, and the choice of the one to use. An engine
// supports a range [oldest, newest], and so do we. The version goes into the path of every request
// (/v1.41/...), and the engine then answers as that version did, so an upgrade of Docker does not
// change what we have to decode. Pure.

#include "kindlb/core/result.hpp"

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace kindlb::docker {

struct ApiVersion {
  unsigned major = 0;
  unsigned minor = 0;

  /// Parse "MAJOR.MINOR"; nothing for anything else.
  static std::optional<ApiVersion> parse(std::string_view text);
  std::string text() const;
  auto operator<=>(const ApiVersion&) const = default;
};

constexpr ApiVersion kOldestApi{1, 40};  ///< Docker 19.03
constexpr ApiVersion kNewestApi{1, 47};  ///< Docker 27.3, the newest whose changes were read

/// What an engine reports about itself at GET /version, the one endpoint to use without a version.
struct EngineVersion {
  std::string version;
  std::string os;
  ApiVersion newest;  ///< ApiVersion
  ApiVersion oldest;  ///< MinAPIVersion; 0.0 when the engine does not report one
};

/// Return the highest version both sides support, or Invalid with what to do about it.
core::Result<ApiVersion> negotiate(const EngineVersion& engine);

}  // namespace kindlb::docker
