#include "time.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kindlb::kube {

namespace {
using namespace std::chrono;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Consumes what it recognises from the front of the text. Once `failed` is set it stays set, so
/// that a reader checks it once at the end.
struct Cursor {
  std::string_view rest;
  bool failed = false;

  int number(std::size_t digits) {
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (rest.empty() || !is_digit(rest.front())) {
        failed = true;
        return 0;
      }
      value = value * 10 + (rest.front() - '0');
      rest.remove_prefix(1);
    }
    return value;
  }

  char any_of(std::string_view allowed) {
    if (rest.empty() || allowed.find(rest.front()) == std::string_view::npos) {
      failed = true;
      return '\0';
    }
    const char c = rest.front();
    rest.remove_prefix(1);
    return c;
  }

  void fraction() {
    if (!rest.starts_with('.')) return;
    rest.remove_prefix(1);
    const auto end = std::find_if_not(rest.begin(), rest.end(), is_digit);
    if (end == rest.begin()) failed = true;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.begin()));
  }
};

sys_days read_date(Cursor& in) {
  const int y = in.number(4);
  in.any_of("-");
  const int m = in.number(2);
  in.any_of("-");
  const int d = in.number(2);
  const year_month_day date{year{y}, month{static_cast<unsigned>(m)},
                            day{static_cast<unsigned>(d)}};
  if (!date.ok()) in.failed = true;
  return in.failed ? sys_days{} : sys_days{date};
}

seconds read_time_of_day(Cursor& in) {
  const int h = in.number(2);
  in.any_of(":");
  const int m = in.number(2);
  in.any_of(":");
  const int s = in.number(2);
  if (h > 23 || m > 59 || s > 60) in.failed = true;
  return hours{h} + minutes{m} + seconds{s};
}

seconds read_offset(Cursor& in) {
  const char sign = in.any_of("Zz+-");
  if (sign != '+' && sign != '-') return seconds{0};
  const int h = in.number(2);
  in.any_of(":");
  const int m = in.number(2);
  if (h > 23 || m > 59) in.failed = true;
  const seconds offset = hours{h} + minutes{m};
  return sign == '-' ? -offset : offset;
}
}  // namespace

std::string format_time(core::Timestamp time) {
  const auto days = floor<std::chrono::days>(time);
  const year_month_day date{days};
  const hh_mm_ss clock{time - days};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

std::optional<core::Timestamp> parse_time(std::string_view text) {
  Cursor in{text};
  const auto date = read_date(in);
  in.any_of("Tt ");
  const auto clock = read_time_of_day(in);
  in.fraction();
  const auto offset = read_offset(in);
  if (in.failed || !in.rest.empty()) return std::nullopt;
  return core::Timestamp{date + clock - offset};
}

}  // namespace kindlb::kube
