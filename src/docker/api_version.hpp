#pragma once
// Engine API versions ("1.41") as comparable values, and the choice of the one to speak. Pure.

#include "kindlb/core/result.hpp"

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace kindlb::docker {

struct ApiVersion {
  unsigned major = 0;
  unsigned minor = 0;

  static std::optional<ApiVersion> parse(std::string_view text);
  std::string text() const;
  auto operator<=>(const ApiVersion&) const = default;
};

constexpr ApiVersion kOldestApi{1, 40};  ///< Docker 19.03
constexpr ApiVersion kNewestApi{1, 47};  ///< Docker 27.3, the newest whose changes were read

/// What an engine says about itself at GET /version.
struct EngineVersion {
  std::string version;
  std::string os;
  ApiVersion newest;
  ApiVersion oldest;
};

/// The highest version both sides speak, or Invalid with what to do about it.
core::Result<ApiVersion> negotiate(const EngineVersion& engine);

}  // namespace kindlb::docker
