#pragma once
// Named capability sets (--profile), to try a Service against the limits of other providers:
// kindlb's own, some that lack one feature, and the clouds of KEP-1435's survey (docs/contract.md
// §7). Each is a YAML file in src/profile/data, embedded at build time. A profile can only remove
// capabilities: it cannot grant what the data path does not implement.

#include "kindlb/core/policy.hpp"
#include "kindlb/core/result.hpp"

#include <string>
#include <vector>

namespace kindlb::profile {

/// One capability set and where it comes from.
struct Profile {
  std::string name;
  std::string summary;  ///< one line
  std::string source;   ///< the document it is based on; may be empty in a user's profile
  core::Capabilities capabilities;

  bool operator==(const Profile&) const = default;
};

/// Return the embedded profiles, `full` first. Thread-safe; lives until the program ends.
const std::vector<Profile>& all_profiles();

/// Return an embedded profile. The error for an unknown name lists the known ones.
core::Result<Profile> find_profile(const std::string& name);

/// Parse a profile strictly: unknown keys and invalid values are errors with FILE:LINE:COLUMN.
core::Result<Profile> parse_profile(const std::string& yaml, const std::string& file);

/// Return a profile by name, or read a file when `name` looks like a path ("./my.yaml").
core::Result<Profile> load_profile(const std::string& name);

/// Format one line per profile: name, summary, source.
std::string list_profiles();

}  // namespace kindlb::profile
