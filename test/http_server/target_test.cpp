#include "kindlb/http_server/target.hpp"

#include <doctest/doctest.h>

using namespace kindlb::http_server;

TEST_CASE("a target is a path and a query") {
  struct Case {
    const char* target;
    Target parsed;
  };
  const Case cases[] = {
      {"/", {"/", {}}},
      {"", {"", {}}},
      {"/a/b?", {"/a/b", {}}},
      {"/a?x=1&y=2", {"/a", {{"x", "1"}, {"y", "2"}}}},
      {"/a?x=1&x=2", {"/a", {{"x", "2"}}}},
      {"/a?watch", {"/a", {{"watch", ""}}}},
      {"/a?&&=1&x=", {"/a", {{"x", ""}}}},
      {"/a?selector=k=v", {"/a", {{"selector", "k=v"}}}},
      {"/a?s=k%3Dv%26w&%78=1", {"/a", {{"s", "k=v&w"}, {"x", "1"}}}},
      {"/a+b%20c?d=e+f", {"/a+b c", {{"d", "e f"}}}},
      {"/a%2fb%C3%A4", {"/a/b\xC3\xA4", {}}},
      {"/%4?x=%zz%", {"/%4", {{"x", "%zz%"}}}},
      {"/a?b?c#d?e", {"/a", {{"b?c", ""}}}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.target);
    CHECK(parse_target(c.target) == c.parsed);
  }
}
