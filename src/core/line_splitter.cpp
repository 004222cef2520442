#include "kindlb/core/line_splitter.hpp"

namespace kindlb::core {

bool LineSplitter::feed(std::string_view chunk, const std::function<bool(std::string_view)>& line) {
  while (!overflowed_ && !chunk.empty()) {
    const auto newline = chunk.find('\n');
    const auto part = chunk.substr(0, newline);
    // Checked before appending: an endless line must not fill the memory.
    if (pending_.size() + part.size() > max_line_) {
      overflowed_ = true;
      pending_ = {};
      break;
    }
    pending_ += part;
    if (newline == std::string_view::npos) return true;
    chunk.remove_prefix(newline + 1);
    // Detach the line first, so that nothing is pending if the callback stops here.
    std::string complete;
    complete.swap(pending_);
    if (!complete.empty() && !line(complete)) return false;
  }
  return !overflowed_;
}

}  // namespace kindlb::core
