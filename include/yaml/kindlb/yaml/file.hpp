#pragma once
// Read files named on the command line.

#include "kindlb/core/result.hpp"

#include <cstddef>
#include <string>

namespace kindlb::yaml {

inline constexpr std::size_t kMaxFileMiB = 256;

/// Read a whole file of at most `limit_mib` MiB; "-" is standard input. An error's operation is the
/// path.
core::Result<std::string> read_file(const std::string& path, std::size_t limit_mib = kMaxFileMiB);

}  // namespace kindlb::yaml
