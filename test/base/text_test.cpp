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

TEST_CASE("control characters are replaced one by one") {
  CHECK(base::printable("a\r\nb\x1b[0m\x7f \xC3\x84") == "a  b [0m  \xC3\x84");
  CHECK(base::printable(std::string("a\0\tb", 4), '?') == "a??b");
}

TEST_CASE("lists lose white space and empty items") {
  CHECK(base::trimmed(" \t a b \r\n") == "a b");
  CHECK(base::trimmed(" \n").empty());
  CHECK(base::split_list(" a, b,,c ,") == std::vector<std::string>{"a", "b", "c"});
  CHECK(base::split_list("").empty());
  CHECK(base::joined({"a", "b"}) == "a, b");
  CHECK(base::joined(std::vector<std::string_view>{"a"}, "; ") == "a");
}
