#include "kindlb/base/text.hpp"

#include "kindlb/base/number.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using namespace kindlb;

TEST_CASE("numbers are parsed whole or not at all") {
  CHECK(base::parse_number<int>("-12") == -12);
  CHECK(base::parse_number<std::uint16_t>("65535") == 65535);
  CHECK(base::parse_number<std::size_t>("1f", 16) == 31);
  for (const char* text : {"", " 1", "1 ", "+1", "0x1", "1a", "65536", "-1"}) {
    CAPTURE(text);
    CHECK_FALSE(base::parse_number<std::uint16_t>(text).has_value());
  }
}

TEST_CASE("bytes are written as two hexadecimal digits") {
  std::string out;
  base::append_hex(out, '\x0a');
  base::append_hex(out, '\xff');
  base::append_hex(out, '\xff', base::kUpperHex);
  CHECK(out == "0affFF");
}

TEST_CASE("only ASCII letters change case") {
  CHECK(base::lowered("Content-LENGTH: 1 \xC3\x84") == "content-length: 1 \xC3\x84");
}

TEST_CASE("text of others is one line and controls no terminal") {
  struct Case {
    const char* name;
    std::string_view text;
    const char* printed;
  };
  const Case cases[] = {
      {"plain", "a b~", "a b~"},
      {"other scripts", "\xC3\x84\xE2\x82\xAC\xF0\x9F\x8E\x89",
       "\xC3\x84\xE2\x82\xAC\xF0\x9F\x8E\x89"},
      {"a backslash", "a\\n", "a\\n"},
      {"a forged line", "a\r\nb\tc", "a\\r\\nb\\tc"},
      {"an escape sequence", "\x1b[2Ja", "\\x1b[2Ja"},
      {"bell, backspace, DEL", "\a\b\x7f", "\\x07\\x08\\x7f"},
      {"a zero", {"a\0b", 3}, "a\\x00b"},
      {"C1: CSI",
       "\xC2\x9B"
       "2J",
       "\\u009b2J"},
      {"C1: NEL",
       "a\xC2\x85"
       "b",
       "a\\u0085b"},
      {"not C1", "\xC2\xA0", "\xC2\xA0"},
      {"C1 as a byte",
       "\x9B"
       "2J",
       "\\x9b2J"},
      {"C1 overlong",
       "\xE0\x82\x9B"
       "a",
       "\\xe0\\x82\\x9ba"},
      {"ESC overlong",
       "\xC0\x9B"
       "a",
       "\\xc0\\x9ba"},
      {"bidi override",
       "\xE2\x80\xAE"
       "abc\xE2\x80\xAC",
       "\\u202eabc\\u202c"},
      {"bidi isolate and marks", "\xE2\x81\xA6\xE2\x81\xA9\xE2\x80\x8F\xD8\x9C",
       "\\u2066\\u2069\\u200f\\u061c"},
      {"line and paragraph separator", "\xE2\x80\xA8\xE2\x80\xA9", "\\u2028\\u2029"},
      {"a surrogate", "\xED\xA0\x80", "\\xed\\xa0\\x80"},
      {"beyond Unicode", "\xF4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
      {"a broken sequence", "\xE2\x82\x1b", "\\xe2\\x82\\x1b"},
      {"cut off", "a\xE2\x82", "a\\xe2\\x82"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    CHECK(base::printable(c.text) == c.printed);
    CHECK(base::printable(c.printed) == c.printed);
  }
}

TEST_CASE("lists lose white space and empty items") {
  CHECK(base::trimmed(" \t a b \r\n") == "a b");
  CHECK(base::trimmed(" \n").empty());
  CHECK(base::split_list(" a, b,,c ,") == std::vector<std::string>{"a", "b", "c"});
  CHECK(base::split_list("").empty());
  CHECK(base::joined({"a", "b"}) == "a, b");
  CHECK(base::joined(std::vector<std::string_view>{"a"}, "; ") == "a");
}
