#pragma once
// Where the demo shows itself: lines that stay, and on a terminal a frame below them that is
// drawn again and again in its place.

#include <cstddef>
#include <string>
#include <vector>

namespace kindlb::demo {

class Screen {
 public:
  Screen();  ///< looks whether standard output is a terminal
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  bool is_terminal() const { return terminal_; }
  std::size_t width() const;
  std::size_t height() const;

  void say(const std::string& line);
  /// Replaces the frame; does nothing elsewhere.
  void draw(const std::vector<std::string>& frame);
  /// The frame stays where it is, and what follows goes below.
  void keep() { drawn_.clear(); }

 private:
  void erase_frame();

  const bool terminal_;
  std::vector<std::string> drawn_;
};

}  // namespace kindlb::demo
