#include "kindlb/core/hash.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

using kindlb::core::fnv1a;
using kindlb::core::Hasher;
using kindlb::core::hex;

TEST_CASE("FNV-1a gives its published values") {
  CHECK(fnv1a("") == 0xcbf29ce484222325U);
  CHECK(fnv1a("a") == 0xaf63dc4c8601ec8cU);
  CHECK(fnv1a("foobar") == 0x85944171f73967e8U);
}

TEST_CASE("hashing in pieces equals hashing at once") {
  CHECK(fnv1a("bar", fnv1a("foo")) == fnv1a("foobar"));
}

TEST_CASE("bytes above 127 count as unsigned") {
  CHECK(fnv1a("\xff") == (0xcbf29ce484222325U ^ 0xffU) * 0x100000001b3U);
}

TEST_CASE("hexadecimal digits, the upper ones first, zeros kept") {
  struct Case {
    const char* name;
    std::uint64_t hash;
    std::size_t digits;
    const char* want;
  };
  const Case cases[] = {
      {"all", 0x0123456789abcdefU, 16, "0123456789abcdef"},
      {"some", 0x0123456789abcdefU, 4, "0123"},
      {"none", 0x0123456789abcdefU, 0, ""},
      {"no more than there are", 0xf000000000000001U, 20, "f000000000000001"},
      {"zero", 0, 3, "000"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      CHECK(hex(c.hash, c.digits) == c.want);
    }
  }
}

TEST_CASE("fields do not run into each other") {
  const std::set<std::string> texts = {
      Hasher().add("ab").add("c").text(),
      Hasher().add("a").add("bc").text(),
      Hasher().add("abc").text(),
      Hasher().add("abc").add("").text(),
      Hasher().add("").add("abc").text(),
      Hasher().add("1:a").text(),
      Hasher().add("a").text(),
      Hasher().text(),
      Hasher().add(std::string("a\0b", 3)).text(),
  };
  CHECK(texts.size() == 9);
}

TEST_CASE("a number hashes as its digits do, and order matters") {
  CHECK(Hasher().add(80U).text() == Hasher().add("80").text());
  CHECK(Hasher().add(80U).add(81U).text() != Hasher().add(81U).add(80U).text());
  CHECK(Hasher().add(~std::uint64_t{0}).text() == Hasher().add("18446744073709551615").text());
}

TEST_CASE("the text is stable across runs and machines") {
  CHECK(Hasher().add("kindlb").add(1U).text() == hex(fnv1a("6:kindlb1:1")));
  CHECK(Hasher().text().size() == 16);
}
