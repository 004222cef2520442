#include "kindlb/log/log.hpp"

#include "kindlb/json/json.hpp"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace kindlb::log {

namespace {

/// The message as a JSON string, quotes included: %* in the pattern.
class JsonText final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string text(message.payload.data(), message.payload.size());
    const auto quoted = json::dump(json::Json(text));
    out.append(quoted.data(), quoted.data() + quoted.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonText>();
  }
};

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
  if (format == Format::Json) {
    auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
    formatter->add_flag<JsonText>('*').set_pattern(
        R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","message":%*})");
    logger->set_formatter(std::move(formatter));
  } else {
    logger->set_pattern("%H:%M:%S.%e %^%-5l%$ %v");
  }
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
