#include "support/paths.hpp"

#include <filesystem>
#include <sstream>
#include <stdexcept>

namespace kindlb::test {

std::string source_dir() {
  return KINDLB_SOURCE_DIR;
}

std::string program(std::string_view name) {
  std::istringstream built(KINDLB_PROGRAMS);
  for (std::string path; std::getline(built, path, ':');)
    if (std::filesystem::path(path).filename() == name) return path;
  throw std::logic_error("test/CMakeLists.txt does not list the program " + std::string(name));
}

}  // namespace kindlb::test
