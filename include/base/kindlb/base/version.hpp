#pragma once
// The version of this build, "0.1.0": one for kindlb, kindlb-agent and kindlb-echo.

#include <string>

namespace kindlb::base {

const std::string& version();

}  // namespace kindlb::base
