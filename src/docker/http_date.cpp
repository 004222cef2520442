#include "http_date.hpp"

#include <charconv>
#include <chrono>

namespace kindlb::docker {

namespace {

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<unsigned> month(std::string_view name) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const auto at = kMonths.find(name);
  if (at == std::string_view::npos || at % 3 != 0) return std::nullopt;
  return static_cast<unsigned>(at / 3 + 1);
}

}  // namespace

std::optional<std::int64_t> parse_http_date(std::string_view text) {
  // Every field of IMF-fixdate is at a fixed position.
  if (text.size() != 29 || text.substr(25) != " GMT") return std::nullopt;
  const auto day = number(text.substr(5, 2));
  const auto in_year = month(text.substr(8, 3));
  const auto year = number(text.substr(12, 4));
  const auto hour = number(text.substr(17, 2));
  const auto minute = number(text.substr(20, 2));
  const auto second = number(text.substr(23, 2));
  if (!day || !in_year || !year || !hour || !minute || !second) return std::nullopt;

  using namespace std::chrono;
  const year_month_day date(std::chrono::year(*year), std::chrono::month(*in_year),
                            std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const auto since_midnight = hours(*hour) + minutes(*minute) + seconds(*second);
  return duration_cast<seconds>((sys_days(date) + since_midnight).time_since_epoch()).count();
}

}  // namespace kindlb::docker
