#include "kindlb/core/base64.hpp"

#include <doctest/doctest.h>

#include <string>

using kindlb::core::decode_base64;

TEST_CASE("base64 decodes, also broken over lines") {
  CHECK(decode_base64("") == "");
  CHECK(decode_base64("Zg==") == "f");
  CHECK(decode_base64("Zm8=") == "fo");
  CHECK(decode_base64("Zm9v") == "foo");
  CHECK(decode_base64("Zm9v\n  YmFy\r\n") == "foobar");
  CHECK(decode_base64("AP+/") == std::string("\0\xFF\xBF", 3));
}

TEST_CASE("what is not base64 is refused") {
  for (const char* text : {"Z", "Zg", "Zg=", "Z===", "Zm9v!", "Zm9v====", "-_8=", "Zg==Zg=="}) {
    SUBCASE(text) {
      CHECK_FALSE(decode_base64(text).has_value());
    }
  }
}
