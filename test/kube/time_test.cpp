#include "time.hpp"

#include <doctest/doctest.h>

using namespace kindlb;
using namespace std::chrono;

namespace {
core::Timestamp at(int seconds_since_epoch) {
  return core::Timestamp{seconds{seconds_since_epoch}};
}
}  // namespace

TEST_CASE("times read as RFC 3339 says") {
  struct Case {
    const char* text;
    int want;
  };
  for (const auto& c :
       {Case{"1970-01-01T00:00:00Z", 0}, Case{"2026-11-16T03:14:17Z", 1794798857},
        Case{"2026-11-16T03:14:17.999999Z", 1794798857},
        Case{"2026-11-16T05:14:17+02:00", 1794798857},
        Case{"2026-11-15T21:44:17-05:30", 1794798857}, Case{"2024-02-29T23:59:60Z", 1709251200}}) {
    SUBCASE(c.text) {
      CHECK(kube::parse_time(c.text) == at(c.want));
    }
  }
}

TEST_CASE("anything but a time is refused") {
  for (const char* text :
       {"", "yesterday", "2026-11-16", "2026-11-16T03:14:17", "2026-13-16T03:14:17Z",
        "2026-02-29T00:00:00Z", "2026-11-16T24:00:00Z", "2026-11-16T03:60:00Z",
        "2026-11-16T03:14:17.Z", "2026-11-16T03:14:17ZZ", "2026-11-16T03:14:17+2:00",
        "-026-11-16T03:14:17Z", "2026-00-00T00:00:00Z"}) {
    SUBCASE(text) {
      CHECK_FALSE(kube::parse_time(text).has_value());
    }
  }
}

TEST_CASE("a written time reads back") {
  CHECK(kube::format_time(at(1794798857)) == "2026-11-16T03:14:17Z");
  for (const int when : {0, 1, 951782399, 1709164800, 1794798857, 2147483647}) {
    CAPTURE(when);
    CHECK(kube::parse_time(kube::format_time(at(when))) == at(when));
  }
}
