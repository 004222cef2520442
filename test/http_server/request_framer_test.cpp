#include "request_framer.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace kindlb::http_server;

namespace {
constexpr RequestLimits kLimits{.header = 200, .body = 10};

/// The state after the last byte of a request that arrives byte by byte.
RequestState state_after_each_byte(const std::string& text) {
  RequestFramer framer(kLimits);
  auto out = RequestState::Empty;
  for (std::size_t size = 0; size <= text.size(); ++size)
    out = framer.update(std::string_view(text).substr(0, size));
  return out;
}
}  // namespace

TEST_CASE("when a request is complete") {
  struct Case {
    const char* name;
    std::string text;
    RequestState state;
  };
  const std::string get = "GET / HTTP/1.1\r\n";
  const Case cases[] = {
      {"nothing", "", RequestState::Empty},
      {"half a word", "GE", RequestState::Header},
      {"a line", get, RequestState::Header},
      {"no body", get + "Host: x\r\n\r\n", RequestState::Complete},
      {"an empty body", get + "Content-Length: 0\r\n\r\n", RequestState::Complete},
      {"half a body", get + "content-length:4\r\n\r\nab", RequestState::Body},
      {"a body", get + "CONTENT-LENGTH:  4\r\n\r\nabcd", RequestState::Complete},
      {"a body and the next request", get + "Content-Length: 4\r\n\r\nabcdGET",
       RequestState::Complete},
      {"the largest body", get + "Content-Length: 10\r\n\r\n", RequestState::Body},
      {"a larger one", get + "Content-Length: 11\r\n\r\n", RequestState::BodyTooLarge},
      {"beyond numbers", get + "Content-Length: 99999999999999999999\r\n\r\n",
       RequestState::BodyTooLarge},
      {"no number", get + "Content-Length: x\r\n\r\n", RequestState::Complete},
      {"chunks", get + "Transfer-Encoding: chunked\r\n\r\n", RequestState::Complete},
      {"asks first", get + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n",
       RequestState::Complete},
      {"a header of a similar name", get + "X-Content-Length: 5\r\n\r\n", RequestState::Complete},
      {"too long", get + std::string(300, 'x'), RequestState::HeaderTooLarge},
      {"another protocol", "\x16\x03\x01", RequestState::NotHttp},
      {"small letters", "get", RequestState::NotHttp}};
  for (const auto& c : cases) {
    CAPTURE(c.name);
    CHECK(state_after_each_byte(c.text) == c.state);
    RequestFramer all_at_once(kLimits);
    CHECK(all_at_once.update(c.text) == c.state);
  }
}
