#include "log.hpp"

#include <unistd.h>

#include <string>

namespace kindlb::agent {

void log(std::string_view line) {
  // One write per line, so that lines of Envoy and ours do not mix. Nothing to do if it fails.
  const std::string text = "kindlb-agent: " + std::string(line) + "\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace kindlb::agent
