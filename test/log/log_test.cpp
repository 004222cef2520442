#include "kindlb/log/log.hpp"

#include "kindlb/json/json.hpp"
#include "support/temp_folder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

using namespace kindlb;

namespace {
/// What `action` writes to standard error, line by line.
std::vector<std::string> lines_of(const std::function<void()>& action) {
  const test::TempFolder folder;
  const int kept = dup(STDERR_FILENO);
  const int file = open((folder / "log").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  REQUIRE(dup2(file, STDERR_FILENO) == STDERR_FILENO);
  action();
  dup2(kept, STDERR_FILENO);
  close(kept);
  close(file);
  std::ifstream in(folder / "log");
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

/// A forged line, a cleared screen (once with C1, once as a byte), and text that reads backwards.
const std::string kHostile =
    "a\r\n12:00:00 info  b\x1b[2J\xC2\x9B"
    "2J\x9B\x7f\xE2\x80\xAE\xC3\xA4";
}  // namespace

TEST_CASE("a human line is one line and controls no terminal") {
  const auto lines = lines_of([] {
    log::configure("info", log::Format::Human);
    log::warn("annotation {}", kHostile);
  });
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].substr(lines[0].find(' ')) ==
        " warning annotation a\\r\\n12:00:00 info  b\\x1b[2J\\u009b2J\\x9b\\x7f\\u202e\xC3\xA4");
}

TEST_CASE("a JSON line is one line of ASCII that holds the message") {
  const auto lines = lines_of([] {
    log::configure("info", log::Format::Json);
    log::info("annotation {}", kHostile);
  });
  REQUIRE(lines.size() == 1);
  for (const char c : lines[0]) CHECK((c >= 0x20 && c < 0x7f));
  const auto message = json::text_at(json::parse_bounded(lines[0]), {"message"});
  auto expected = "annotation " + kHostile;
  expected.replace(expected.find("\x9B\x7f"), 1, "\xEF\xBF\xBD");  // no UTF-8, no JSON
  CHECK(message == expected);
}
