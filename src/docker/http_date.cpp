#include "http_date.hpp"

#include "kindlb/base/number.hpp"

#include <chrono>

namespace kindlb::docker {

namespace {

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
  const auto day = base::parse_number<unsigned>(text.substr(5, 2));
  const auto in_year = month(text.substr(8, 3));
  const auto year = base::parse_number<unsigned>(text.substr(12, 4));
  const auto hour = base::parse_number<unsigned>(text.substr(17, 2));
  const auto minute = base::parse_number<unsigned>(text.substr(20, 2));
  const auto second = base::parse_number<unsigned>(text.substr(23, 2));
  if (!day || !in_year || !year || !hour || !minute || !second) return std::nullopt;

  using namespace std::chrono;
  const year_month_day date(std::chrono::year(static_cast<int>(*year)),
                            std::chrono::month(*in_year), std::chrono::day(*day));
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const auto since_midnight = hours(*hour) + minutes(*minute) + seconds(*second);
  return duration_cast<seconds>((sys_days(date) + since_midnight).time_since_epoch()).count();
}

}  // namespace kindlb::docker
