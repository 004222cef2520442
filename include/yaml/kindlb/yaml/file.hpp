#pragma once
// Reading what a person names on the command line.

#include "kindlb/core/result.hpp"

#include <string>

namespace kindlb::yaml {

/// The whole file; "-" is standard input. An error's operation is the file's name. No more than
/// 256 MiB.
core::Result<std::string> read_file(const std::string& path);

}  // namespace kindlb::yaml
