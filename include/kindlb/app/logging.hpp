#pragma once
// Where log lines go and what they look like: standard error, for people by default.

#include "kindlb/app/options.hpp"

#include <string>

namespace kindlb::app {

void set_up_logging(const std::string& level, LogFormat format);

}  // namespace kindlb::app
