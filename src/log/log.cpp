#include "kindlb/log/log.hpp"

#include "kindlb/base/text.hpp"
#include "kindlb/json/json.hpp"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace kindlb::log {

namespace {

/// ASCII only: JSON itself would allow DEL, C1 and what changes the direction of writing as they
/// are, and people look at these lines, too.
std::string quoted(const std::string& text) {
  return json::Json(text).dump(json::kOneLine, ' ', true, json::Json::error_handler_t::replace);
}

/// The message as its format needs it, %* in the pattern: messages quote annotations and answers of
/// others, which must neither forge lines nor control the terminal.
class SafeText final : public spdlog::custom_flag_formatter {
 public:
  explicit SafeText(Format format) : format_(format) {}

  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string text(message.payload.data(), message.payload.size());
    const auto safe = format_ == Format::Json ? quoted(text) : base::printable(text);
    out.append(safe.data(), safe.data() + safe.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<SafeText>(format_);
  }

 private:
  const Format format_;
};

std::unique_ptr<spdlog::formatter> make_formatter(Format format) {
  const bool json = format == Format::Json;
  auto out = std::make_unique<spdlog::pattern_formatter>(json ? spdlog::pattern_time_type::utc
                                                              : spdlog::pattern_time_type::local);
  out->add_flag<SafeText>('*', format)
      .set_pattern(json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","message":%*})"
                        : "%H:%M:%S.%e %^%-5l%$ %*");
  return out;
}

spdlog::level::level_enum backend_level(Level level) {
  switch (level) {
    case Level::Debug:
      return spdlog::level::debug;
    case Level::Info:
      return spdlog::level::info;
    case Level::Warn:
      return spdlog::level::warn;
    case Level::Error:
      break;
  }
  return spdlog::level::err;
}

}  // namespace

void configure(std::string_view level, Format format) {
  constexpr const char* kName = "kindlb";
  spdlog::drop(kName);  // tests configure more than once
  auto logger = spdlog::stderr_color_mt(kName);
  logger->set_formatter(make_formatter(format));
  logger->set_level(spdlog::level::from_str(std::string(level)));
  spdlog::set_default_logger(std::move(logger));
}

bool is_enabled(Level level) {
  return spdlog::default_logger_raw()->should_log(backend_level(level));
}

void write(Level level, std::string_view message) {
  spdlog::default_logger_raw()->log(backend_level(level),
                                    spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace kindlb::log
