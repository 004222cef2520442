#include "support/golden.hpp"

#include "support/paths.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace kindlb::testing {

namespace {

std::string path_of(const std::string& name) {
  return test::source_dir() + "/test/golden/" + name;
}

bool updating() {
  const char* value = std::getenv("KINDLB_UPDATE_GOLDEN");  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr && std::string(value) == "1";
}

std::string first_difference(const std::string& want, const std::string& got) {
  std::istringstream wanted(want);
  std::istringstream gotten(got);
  std::string left;
  std::string right;
  for (int line = 1;; ++line) {
    const bool more_left = static_cast<bool>(std::getline(wanted, left));
    const bool more_right = static_cast<bool>(std::getline(gotten, right));
    if (more_left != more_right || left != right || !more_left)
      return "line " + std::to_string(line) + "\n  want: " + (more_left ? left : "<end>") +
             "\n  got:  " + (more_right ? right : "<end>");
  }
}

}  // namespace

std::string read_golden(const std::string& name) {
  std::ifstream in(path_of(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string golden_difference(const std::string& name, const std::string& text) {
  if (updating()) std::ofstream(path_of(name), std::ios::binary) << text;
  const auto stored = read_golden(name);
  return stored == text ? "" : name + ", " + first_difference(stored, text);
}

}  // namespace kindlb::testing
