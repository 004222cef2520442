#pragma once
// One short line for people, on standard error: what `docker logs` shows.

#include <string_view>

namespace kindlb::agent {

void log(std::string_view line);

}  // namespace kindlb::agent
