#include "envoy/http_response.hpp"

#include <doctest/doctest.h>

using kindlb::agent::HttpResponse;
using State = HttpResponse::State;

namespace {

constexpr const char* kChunked =
    "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nTransfer-Encoding: Chunked\r\n\r\n"
    "5\r\nhello\r\n7;x=y\r\n, world\r\n0\r\n\r\n";

}  // namespace

TEST_CASE("responses are parsed however they arrive") {
  struct Case {
    const char* name;
    const char* bytes;
    int status;
    const char* body;
  };
  const Case cases[] = {
      {"chunked", kChunked, 200, "hello, world"},
      {"fixed length", "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\nno", 503,
       "no"},
      {"no body", "HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n", 200, ""},
      {"trailer", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx: y\r\n\r\n", 200,
       ""},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      HttpResponse whole(100);
      CHECK(whole.feed(c.bytes) == State::Complete);
      CHECK(whole.status() == c.status);
      CHECK(whole.body() == c.body);
      HttpResponse slow(100);
      const std::string_view bytes = c.bytes;
      for (std::size_t i = 0; i + 1 < bytes.size(); ++i)
        REQUIRE(slow.feed(bytes.substr(i, 1)) == State::Incomplete);
      CHECK(slow.feed(bytes.substr(bytes.size() - 1)) == State::Complete);
      CHECK(slow.body() == c.body);
    }
  }
}

TEST_CASE("garbage and responses beyond the limit are malformed") {
  for (const char* bytes :
       {"SMTP ready\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n", "HTTP/1.1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 101\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n65\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nabcdef"}) {
    CAPTURE(bytes);
    HttpResponse reply(100);
    CHECK(reply.feed(bytes) == State::Malformed);
    CHECK(reply.feed(kChunked) == State::Malformed);
  }
  HttpResponse endless(100);
  CHECK(endless.feed(std::string(20'000, 'x')) == State::Malformed);
}

TEST_CASE("keep-alive unless the response says close") {
  HttpResponse kept(100);
  kept.feed(kChunked);
  CHECK(kept.keep_alive());
  HttpResponse closed(100);
  closed.feed("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
  CHECK_FALSE(closed.keep_alive());
}
