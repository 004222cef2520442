#include "response_head.hpp"

#include "kindlb/base/version.hpp"

#include <doctest/doctest.h>

using namespace kindlb::http;

TEST_CASE("a head is complete at its empty line and not a byte before") {
  const std::string head =
      "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/x\r\nX-Empty:\r\nUpgrade:  tcp \r\n\r\n";
  for (std::size_t cut = 0; cut < head.size(); ++cut) {
    CAPTURE(cut);
    CHECK(parse_response_head(head.substr(0, cut)).parsed == Parsed::Incomplete);
  }
  const auto parsed = parse_response_head(head + "stream bytes\r\n\r\n");
  CHECK(parsed.parsed == Parsed::Complete);
  CHECK(parsed.size == head.size());
  CHECK(parsed.response.status == 101);
  CHECK(parsed.response.header("upgrade") == "tcp");
  CHECK(parsed.response.header("CONTENT-TYPE") == "application/x");
  REQUIRE(parsed.response.headers.size() == 3);
  CHECK(parsed.response.headers[1].value == "");
}

TEST_CASE("malformed heads") {
  struct Case {
    const char* name;
    std::string bytes;
  };
  for (const auto& [name, bytes] :
       {Case{"empty", "\r\n\r\n"}, Case{"another protocol", "SSH-2.0 200 x\r\n\r\n"},
        Case{"HTTP/2", "HTTP/2.0 200 OK\r\n\r\n"}, Case{"no status", "HTTP/1.1\r\n\r\n"},
        Case{"short status", "HTTP/1.1 20\r\n\r\n"}, Case{"long status", "HTTP/1.1 2000 X\r\n\r\n"},
        Case{"status of letters", "HTTP/1.1 2x0 X\r\n\r\n"},
        Case{"negative status", "HTTP/1.1 -20 X\r\n\r\n"},
        Case{"status out of range", "HTTP/1.1 700 X\r\n\r\n"},
        Case{"no colon", "HTTP/1.1 200 OK\r\nnonsense\r\n\r\n"},
        Case{"no name", "HTTP/1.1 200 OK\r\n: value\r\n\r\n"},
        Case{"folded", "HTTP/1.1 200 OK\r\nA: b\r\n c: d\r\n\r\n"},
        Case{"too long", "HTTP/1.1 200 OK\r\nA: " + std::string(kMaxHead, 'x')}}) {
    SUBCASE(name) {
      CHECK(parse_response_head(bytes).parsed == Parsed::Malformed);
    }
  }
  CHECK(parse_response_head("HTTP/1.0 200\r\n\r\n").parsed == Parsed::Complete);
}

TEST_CASE("the body of a refusal") {
  const Response sized{.status = 404, .headers = {{"content-length", "5"}}};
  CHECK_FALSE(refusal_body(sized, "1234", false));
  CHECK(refusal_body(sized, "12345", false) == "12345");
  CHECK(refusal_body(sized, "1234567", false) == "12345");
  CHECK(refusal_body(sized, "1234", true) == "1234");

  const Response chunked{.status = 500, .headers = {{"Transfer-Encoding", "Chunked"}}};
  const std::string chunks = "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n";
  for (std::size_t cut = 0; cut < chunks.size() - 2; ++cut) {
    CAPTURE(cut);
    CHECK_FALSE(refusal_body(chunked, chunks.substr(0, cut), false));
  }
  CHECK(refusal_body(chunked, chunks, false) == "abc0123456789");
  CHECK(refusal_body(chunked, "zz\r\n", true) == "zz\r\n");
  CHECK(refusal_body(chunked, "ffffffffffffffffff\r\nabc", true) == "ffffffffffffffffff\r\nabc");

  const Response open{.status = 500};
  CHECK_FALSE(refusal_body(open, "some", false));
  CHECK(refusal_body(open, "some", true) == "some");
  CHECK(refusal_body(open, std::string(kMaxHead, 'x'), false) == std::string(kMaxHead, 'x'));
}

TEST_CASE("an upgrade request as bytes") {
  const Request request{.method = "POST",
                        .target = "/x",
                        .headers = {{"Connection", "close"}, {"A", "b"}},
                        .body = "{}"};
  CHECK(write_upgrade_request(request, "/prefix", "localhost", "tok") ==
        "POST /prefix/x HTTP/1.1\r\nHost: localhost\r\nUser-Agent: kindlb/" +
            kindlb::base::version() +
            "\r\nAuthorization: Bearer tok\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nA: b\r\n"
            "Content-Length: 2\r\n\r\n{}");
  const std::string spdy = write_upgrade_request({.headers = {{"upgrade", "spdy"}}}, "", "h", "");
  CHECK(spdy.find("upgrade: spdy\r\n") != std::string::npos);
  CHECK(spdy.find("tcp") == std::string::npos);
}
