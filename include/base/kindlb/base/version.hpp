#pragma once
// The version of this build: one for kindlb, kindlb-agent and kindlb-echo.

#include <string>

namespace kindlb::base {

/// Return the version as CMake's project() states it, "0.1.0". The reference stays valid.
const std::string& version();

}  // namespace kindlb::base
