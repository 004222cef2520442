#include "log.hpp"

#include "kindlb/base/text.hpp"

#include <unistd.h>

#include <string>

namespace kindlb::agent {

void log(std::string_view line) {
  // A single write, so that the line does not mix with those of Envoy, which go to the same pipe.
  // If it fails, there is no other place to say so.
  const std::string text = "kindlb-agent: " + base::printable(line) + "\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace kindlb::agent
