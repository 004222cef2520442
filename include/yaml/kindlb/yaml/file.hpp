#pragma once
// Read files named on the command line.

#include "kindlb/core/result.hpp"

#include <string>

namespace kindlb::yaml {

/// Read a whole file of at most 256 MiB; "-" is standard input. An error's operation is the path.
core::Result<std::string> read_file(const std::string& path);

}  // namespace kindlb::yaml
