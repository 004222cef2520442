#include "kindlb/core/line_splitter.hpp"

#include "support/printing.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using kindlb::core::LineSplitter;

namespace {
std::vector<std::string> lines_of(LineSplitter& splitter, const std::vector<std::string>& chunks) {
  std::vector<std::string> lines;
  for (const auto& chunk : chunks)
    splitter.feed(chunk, [&](std::string_view line) {
      lines.emplace_back(line);
      return true;
    });
  return lines;
}
}  // namespace

TEST_CASE("lines come out whole however they were cut") {
  LineSplitter splitter(100);
  CHECK(lines_of(splitter, {"a", "b\nc", "\n\n", "d\ne"}) ==
        std::vector<std::string>{"ab", "c", "d"});
}

TEST_CASE("a line beyond the limit ends the stream, across chunks too") {
  LineSplitter splitter(4);
  CHECK(lines_of(splitter, {"1234\n", "12", "345\n", "6\n"}) == std::vector<std::string>{"1234"});
  CHECK(splitter.overflowed());
}

TEST_CASE("the receiver can stop") {
  LineSplitter splitter(100);
  int seen = 0;
  CHECK_FALSE(splitter.feed("a\nb\n", [&](std::string_view) { return ++seen < 1; }));
  CHECK(seen == 1);
}
