#include "kindlb/core/ip.hpp"

#include <doctest/doctest.h>

#include <string>

using kindlb::core::Cidr;
using kindlb::core::IpAddress;
using kindlb::core::IpFamily;

TEST_CASE("addresses that parse print as their canonical form") {
  struct Case {
    const char* name;
    const char* in;
    const char* want;
  };
  const Case cases[] = {
      {"v4", "172.18.255.254", "172.18.255.254"},
      {"v6 short", "fc00::1", "fc00::1"},
      {"v6 long", "fc00:0:0:0:0:0:0:1", "fc00::1"},
      {"v4 mapped", "::ffff:10.0.0.1", "::ffff:10.0.0.1"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const auto address = IpAddress::parse(c.in);
      REQUIRE(address.has_value());
      CHECK(address->text() == c.want);
    }
  }
}

TEST_CASE("what is not exactly an address is refused") {
  for (const char* text :
       {"", "1.2.3", "1.2.3.4 ", " 1.2.3.4", "1.2.3.256", "1.2.3.4/32", "::g", "host"}) {
    CAPTURE(text);
    CHECK_FALSE(IpAddress::parse(text).has_value());
  }
  CHECK_FALSE(IpAddress::parse(std::string_view("1.2.3.4\0x", 9)).has_value());
}

TEST_CASE("neighbours carry across bytes and end at the edges") {
  CHECK(IpAddress::parse("10.0.1.0")->previous()->text() == "10.0.0.255");
  CHECK(IpAddress::parse("10.0.0.255")->next()->text() == "10.0.1.0");
  CHECK(IpAddress::parse("fc00::1:0")->previous()->text() == "fc00::ffff");
  CHECK_FALSE(IpAddress::parse("0.0.0.0")->previous().has_value());
  CHECK_FALSE(IpAddress::parse("255.255.255.255")->next().has_value());
}

TEST_CASE("prefixes") {
  const auto net = Cidr::parse("172.18.3.4/16");
  REQUIRE(net.has_value());
  CHECK(net->first().text() == "172.18.0.0");
  CHECK(net->last().text() == "172.18.255.255");
  CHECK(net->text() == "172.18.3.4/16");
  CHECK(net->contains(*IpAddress::parse("172.18.255.1")));
  CHECK_FALSE(net->contains(*IpAddress::parse("172.19.0.1")));
  CHECK_FALSE(net->contains(*IpAddress::parse("fc00::1")));
  CHECK(Cidr::parse("0.0.0.0/0")->contains(*IpAddress::parse("8.8.8.8")));
  CHECK(Cidr::parse("fc00::/7")->contains(*IpAddress::parse("fd12::1")));
  CHECK(Cidr::host(*IpAddress::parse("fc00::1")).text() == "fc00::1/128");
}

TEST_CASE("malformed prefixes are refused") {
  for (const char* text : {"", "/8", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1",
                           "10.0.0.0/8 ", "fc00::/129", "10.0.0.0/8x"}) {
    CAPTURE(text);
    CHECK_FALSE(Cidr::parse(text).has_value());
  }
}
