#pragma once
// Log lines of kindlb, on standard error. A facade: spdlog, which does the work, is slow to compile
// and stays in one source file. Log from any thread; configure before starting others. There is one
// logger per process, and no logger objects: a program that serves one user needs no more.
//
//   log::info("serving {} Services", count);

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>

namespace kindlb::log {

enum class Level { Debug, Info, Warn, Error };
/// Either keeps a message on one line, whatever it quotes, and free of terminal escapes.
enum class Format {
  Human,  ///< "12:34:56.789 info  text", local time; control characters as "\n", "\x1b", "\u202e"
  Json,   ///< {"time":"...Z","level":"info","message":"text"}, one object per line, in ASCII
};

/// Send lines of `level` ("debug", "info", "warn", "error", "off") and above to standard error.
void configure(std::string_view level, Format format);

/// Log `message` as it is: braces in it are not placeholders.
void write(Level level, std::string_view message);

/// Whether lines of this level are written. Check it before preparing an expensive argument; the
/// functions below check it before formatting.
bool is_enabled(Level level);

template <typename... Args>
void write(Level level, fmt::format_string<Args...> format, Args&&... args) {
  if (is_enabled(level))
    write(level, std::string_view(fmt::vformat(format, fmt::make_format_args(args...))));
}

template <typename... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::Debug, format, std::forward<Args>(args)...);
}

template <typename... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::Info, format, std::forward<Args>(args)...);
}

template <typename... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::Warn, format, std::forward<Args>(args)...);
}

}  // namespace kindlb::log
