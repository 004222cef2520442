#pragma once
// Split a stream of chunks into lines: newline-delimited JSON of watches, Docker events and the
// agent protocol. Not thread-safe. A line beyond the limit ends the stream: nothing after it is
// accepted, because the reader can no longer know where the next line begins.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace kindlb::core {

class LineSplitter {
 public:
  explicit LineSplitter(std::size_t max_line) : max_line_(max_line) {}

  /// Call `line` for each complete, non-empty line, without its newline, until it returns false.
  /// Return false when a line was too long or `line` returned false.
  bool feed(std::string_view chunk, const std::function<bool(std::string_view)>& line);
  bool overflowed() const { return overflowed_; }

 private:
  std::size_t max_line_;
  std::string pending_;
  bool overflowed_ = false;
};

}  // namespace kindlb::core
