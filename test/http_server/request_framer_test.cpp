#include "kindlb/http_server/request_framer.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace kindlb::http_server;

namespace {
constexpr ArrivalLimits kLimits{.header = 200, .body = 10};

/// As it arrives byte by byte.
Arrival last_of(const std::string& text) {
  ArrivalGauge gauge(kLimits);
  auto out = Arrival::Nothing;
  for (std::size_t size = 0; size <= text.size(); ++size)
    out = gauge.look(std::string_view(text).substr(0, size));
  return out;
}
}  // namespace

TEST_CASE("when a request is there") {
  struct Case {
    const char* name;
    std::string text;
    Arrival arrival;
  };
  const std::string get = "GET / HTTP/1.1\r\n";
  const Case cases[] = {
      {"nothing", "", Arrival::Nothing},
      {"half a word", "GE", Arrival::Header},
      {"a line", get, Arrival::Header},
      {"no body", get + "Host: x\r\n\r\n", Arrival::Whole},
      {"an empty body", get + "Content-Length: 0\r\n\r\n", Arrival::Whole},
      {"half a body", get + "content-length:4\r\n\r\nab", Arrival::Body},
      {"a body", get + "CONTENT-LENGTH:  4\r\n\r\nabcd", Arrival::Whole},
      {"a body and the next request", get + "Content-Length: 4\r\n\r\nabcdGET", Arrival::Whole},
      {"the largest body", get + "Content-Length: 10\r\n\r\n", Arrival::Body},
      {"a larger one", get + "Content-Length: 11\r\n\r\n", Arrival::BodyTooLong},
      {"beyond numbers", get + "Content-Length: 99999999999999999999\r\n\r\n",
       Arrival::BodyTooLong},
      {"no number", get + "Content-Length: x\r\n\r\n", Arrival::Whole},
      {"chunks", get + "Transfer-Encoding: chunked\r\n\r\n", Arrival::Whole},
      {"asks first", get + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n", Arrival::Whole},
      {"a header of a similar name", get + "X-Content-Length: 5\r\n\r\n", Arrival::Whole},
      {"too long", get + std::string(300, 'x'), Arrival::HeaderTooLong},
      {"another protocol", "\x16\x03\x01", Arrival::NoHttp},
      {"small letters", "get", Arrival::NoHttp}};
  for (const auto& c : cases) {
    CAPTURE(c.name);
    CHECK(last_of(c.text) == c.arrival);
    ArrivalGauge at_once(kLimits);
    CHECK(at_once.look(c.text) == c.arrival);
  }
}
