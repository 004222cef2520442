#pragma once
// Chunks in, lines out: for newline-delimited JSON (watches, engine events, the agent's protocol).
// Not thread-safe. A line beyond the limit is refused once, and everything after it too.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace kindlb::core {

class LineSplitter {
 public:
  explicit LineSplitter(std::size_t max_line) : max_line_(max_line) {}

  /// Calls `line` for each complete, non-empty line, without its newline, until it returns false.
  /// False: a line was too long, or `line` asked to stop.
  bool feed(std::string_view chunk, const std::function<bool(std::string_view)>& line);
  bool overflowed() const { return overflowed_; }

 private:
  std::size_t max_line_;
  std::string pending_;
  bool overflowed_ = false;
};

}  // namespace kindlb::core
