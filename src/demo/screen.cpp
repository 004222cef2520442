#include "screen.hpp"

#include "kindlb/base/text.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

namespace kindlb::demo {

namespace {
constexpr winsize kDefaultSize{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};

winsize size_now() {
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size : kDefaultSize;
}
}  // namespace

Screen::Screen() : terminal_(isatty(STDOUT_FILENO) != 0) {
  if (terminal_) std::fputs("\033[?25l", stdout);  // it would jump around with every redraw
}

Screen::~Screen() {
  if (terminal_) std::fputs("\033[?25h", stdout);
  std::fflush(stdout);
}

std::size_t Screen::width() const {
  return size_now().ws_col;
}

std::size_t Screen::height() const {
  return size_now().ws_row;
}

/// Move up over the frame and clear to the end of the screen. Works as long as no line of the frame
/// wraps, hence every line is cut to the width of the terminal.
void Screen::erase_frame() {
  if (!drawn_.empty()) std::printf("\033[%zuA\r\033[J", drawn_.size());
  drawn_.clear();
}

void Screen::say(const std::string& line, bool bold) {
  const auto frame = drawn_;
  erase_frame();
  const bool emphasise = bold && terminal_;
  std::printf("%s%s%s\n", emphasise ? "\033[1m" : "", base::printable(line).c_str(),
              emphasise ? "\033[0m" : "");
  if (!frame.empty()) draw(frame);
  std::fflush(stdout);
}

/// An unchanged frame is not drawn again, to avoid flicker.
void Screen::draw(const std::vector<std::string>& frame) {
  if (!terminal_ || frame == drawn_) return;
  erase_frame();
  for (const auto& line : frame) std::printf("%s\n", line.c_str());
  drawn_ = frame;
  std::fflush(stdout);
}

}  // namespace kindlb::demo
