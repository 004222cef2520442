#pragma once
// Log lines of kindlb. A facade: what it is built on (spdlog) is slow to compile and stays in one
// source file. Safe to call from any thread; configure it before there are others.
//
//   log::info("serving {} Services", count);

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>

namespace kindlb::log {

enum class Level { Debug, Info, Warn, Error };
enum class Format { Human, Json };

/// Send lines of `level` ("debug", "info", "warn", "error", "off") and above to standard error.
void configure(std::string_view level, Format format);

/// Print the line `message` as it is.
void write(Level level, std::string_view message);

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
