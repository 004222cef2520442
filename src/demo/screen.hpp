#pragma once
// The demo's output: lines that stay, and, on a terminal, a frame below them that is redrawn in
// place. Used by one thread; nothing else may write to standard output meanwhile.

#include <cstddef>
#include <string>
#include <vector>

namespace kindlb::demo {

class Screen {
 public:
  Screen();  ///< hides the cursor if standard output is a terminal; the destructor shows it again
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  bool is_terminal() const { return terminal_; }
  std::size_t width() const;
  std::size_t height() const;

  /// Print a line that stays, above the frame; on a terminal, in bold if wanted.
  void say(const std::string& line, bool bold = false);
  /// Replace the frame. Does nothing if standard output is not a terminal. Lines are printed as
  /// they are, with their colours: what comes from outside must have been made printable.
  void draw(const std::vector<std::string>& frame);
  /// Leave the frame as it is: what follows goes below it.
  void keep() { drawn_.clear(); }

 private:
  void erase_frame();

  const bool terminal_;
  std::vector<std::string> drawn_;
};

}  // namespace kindlb::demo
