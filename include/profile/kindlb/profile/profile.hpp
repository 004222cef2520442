#pragma once
// Capability sets by name, for "how would this Service fare there?": kindlb's own, some that lack
// one thing, and the clouds of KEP-1435's survey. Each is a small YAML file in src/profile/data,
// embedded at build time. A profile can only take away: what the data path does not do, no profile
// grants.

#include "kindlb/core/policy.hpp"
#include "kindlb/core/result.hpp"

#include <string>
#include <vector>

namespace kindlb::profile {

struct Profile {
  std::string name;
  std::string summary;  ///< one line
  std::string source;   ///< which document says so, and where; may be empty in a user's own
  core::Capabilities capabilities;

  bool operator==(const Profile&) const = default;
};

/// Those that come with kindlb, `full` first.
const std::vector<Profile>& all_profiles();

/// An unknown name is an error that lists the known ones.
core::Result<Profile> find_profile(const std::string& name);

/// Strict: unknown keys and bad values are errors with FILE:LINE:COLUMN.
core::Result<Profile> parse_profile(const std::string& yaml, const std::string& file);

/// By name, or from a file when `name` looks like a path ("./my.yaml").
core::Result<Profile> load_profile(const std::string& name);

/// One line per profile: name, summary, source.
std::string list_profiles();

}  // namespace kindlb::profile
