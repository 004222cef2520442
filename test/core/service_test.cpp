#include "kindlb/core/service.hpp"

#include "support/builders.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>

using namespace kindlb::core;
using kindlb::test::target;

TEST_CASE("protocols: each name parses back, and nothing else does") {
  for (const auto protocol : {Protocol::Tcp, Protocol::Udp, Protocol::Sctp})
    CHECK(parse_protocol(name_of(protocol)) == protocol);
  for (const char* text : {"", "tcp", "TCP ", "HTTP", "Sctp"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_protocol(text).has_value());
  }
}

TEST_CASE("targets print so that the port cannot be mistaken") {
  CHECK(target("10.0.0.1", 80).text() == "10.0.0.1:80");
  CHECK(target("fc00::1", 443).text() == "[fc00::1]:443");
}

TEST_CASE("keys print with their cluster and sort by it first") {
  const ServiceKey key{"kind", "default", "web"};
  CHECK(key.text() == "kind/default/web");
  CHECK(ServiceKey{"a", "z", "z"} < ServiceKey{"b", "a", "a"});
  CHECK(ServiceKey{"a", "a", "z"} < ServiceKey{"a", "b", "a"});
}
