#include "request_parser.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace kindlb::http_server;

namespace {
constexpr RequestLimits kLimits{.header = 200, .fields = 4, .target = 30, .body = 10};

struct Outcome {
  ParserState state = ParserState::Empty;
  int status = 0;  ///< if rejected

  bool operator==(const Outcome&) const = default;
};

constexpr Outcome kHeader{ParserState::Header};
constexpr Outcome kBody{ParserState::Body};
constexpr Outcome kComplete{ParserState::Complete};

constexpr Outcome rejected(int status) {
  return {ParserState::Rejected, status};
}

Outcome outcome_of(const RequestParser& parser) {
  return {parser.state(), parser.error_status()};
}

RequestParser fed(std::string_view text, std::size_t piece) {
  RequestParser out(kLimits);
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size())))
    out.feed(text.substr(0, piece));
  return out;
}

const std::string kGet = "GET / HTTP/1.1\r\n";
const std::string kPost = "POST / HTTP/1.1\r\n";
const std::string kChunked = kPost + "Transfer-Encoding: chunked\r\n\r\n";

void check_outcome(const std::string& text, const Outcome& expected) {
  // As it is received should make no difference.
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, text.size() + 1}) {
    CAPTURE(piece);
    const auto parser = fed(text, piece);
    CHECK(static_cast<int>(parser.state()) == static_cast<int>(expected.state));
    CHECK(parser.error_status() == expected.status);
  }
}
}  // namespace

TEST_CASE("when a request is complete") {
  struct Case {
    const char* name;
    std::string text;
    Outcome outcome;
  };
  const Case cases[] = {
      {"nothing", "", {}},
      {"half a word", "GE", kHeader},
      {"a line", kGet, kHeader},
      {"no body", kGet + "Host: x\r\n\r\n", kComplete},
      {"no header at all", kGet + "\r\n", kComplete},
      {"an empty body", kGet + "Content-Length: 0\r\n\r\n", kComplete},
      {"half a body", kGet + "content-length:4\r\n\r\nab", kBody},
      {"a body", kGet + "CONTENT-LENGTH:  4\r\n\r\nabcd", kComplete},
      {"a body and the next request", kGet + "Content-Length: 4\r\n\r\nabcdGET", kComplete},
      {"the largest body", kGet + "Content-Length: 10\r\n\r\n", kBody},
      {"asks first", kGet + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n", kBody},
      {"a header of a similar name", kGet + "X-Content-Length: 5\r\n\r\n", kComplete},
      {"DELETE without a length", "DELETE / HTTP/1.1\r\n\r\n", kComplete},
      {"chunks to come", kChunked, kBody},
      {"half a chunk", kChunked + "4\r\nab", kBody},
      {"no last chunk", kChunked + "4\r\nabcd\r\n", kBody},
      {"half a last chunk", kChunked + "4\r\nabcd\r\n0\r\n", kBody},
      {"chunks", kChunked + "4\r\nabcd\r\n2;x=y\r\nef\r\n0\r\n\r\n", kComplete},
      {"no chunk but the last", kChunked + "0\r\n\r\n", kComplete},
      {"chunks and trailers", kChunked + "0\r\nA: b\r\n\r\n", kComplete},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    check_outcome(c.text, c.outcome);
  }
}

TEST_CASE("why a request is rejected") {
  struct Case {
    const char* name;
    std::string text;
    int status;
  };
  std::string many_fields = kGet;
  for (int i = 0; i < 5; ++i) many_fields += "a:b\r\n";
  std::string tiny_chunks = kChunked;
  for (int i = 0; i < 11; ++i) tiny_chunks += "1\r\na\r\n";
  const Case cases[] = {
      {"another protocol", "\x16\x03\x01", 400},
      {"small letters", "get", 400},
      {"an empty line", "\r\n", 400},
      {"no version", "HELLO THERE\r\n\r\n", 400},
      {"a later version", "GET / HTTP/2.0\r\n\r\n", 400},
      {"an unknown method", "WORK / HTTP/1.1\r\n\r\n", 400},
      {"no field", kGet + "Host\r\n\r\n", 400},
      {"a header too long", kGet + std::string(300, 'x'), 431},
      {"a complete header too long", kGet + "a: " + std::string(190, 'x') + "\r\n\r\n", 431},
      {"too many fields", many_fields + "\r\n", 431},
      {"a target too long", "GET /" + std::string(30, 'x') + " HTTP/1.1\r\n\r\n", 414},
      {"a body too large", kGet + "Content-Length: 11\r\n\r\n", 413},
      {"no number", kGet + "Content-Length: x\r\n\r\n", 400},
      {"beyond numbers", kGet + "Content-Length: 99999999999999999999\r\n\r\n", 400},
      {"negative", kGet + "Content-Length: -1\r\n\r\n", 400},
      {"two lengths", kGet + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
      {"a length and chunks",
       kPost + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"chunks and a length",
       kPost + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400},
      {"another coding", kPost + "Transfer-Encoding: gzip\r\n\r\n", 400},
      {"not chunked in the end", kPost + "Transfer-Encoding: chunked, gzip\r\n\r\n", 400},
      {"no chunk", kChunked + "x\r\nabc", 400},
      {"a chunk longer than it says", kChunked + "1\r\nabc\r\n0\r\n", 400},
      {"a chunk too large", kChunked + "b\r\nabc", 413},
      {"chunks too large", kChunked + "8\r\nabcdefgh\r\n3\r\nabc\r\n0\r\n\r\n", 413},
      {"chunks too large, bit by bit", tiny_chunks, 413},
      {"a chunk's header too long", kChunked + "1;" + std::string(300, 'x'), 431},
      {"trailers too long", kChunked + "0\r\na: " + std::string(300, 'x'), 431},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    check_outcome(c.text, rejected(c.status));
  }
}

TEST_CASE("framing may be as large as a body, but not larger") {
  RequestParser parser(kLimits);
  parser.feed(kChunked);
  // Each byte of the body comes with a chunk's header of fifty.
  const auto chunk = "1;" + std::string(48, 'x') + "\r\na\r\n";
  for (int i = 0; i < 9 && parser.state() == ParserState::Body; ++i) parser.feed(chunk);
  CHECK(outcome_of(parser) == rejected(413));
}

TEST_CASE("what a request says") {
  auto parser =
      fed("POST /a?b=c HTTP/1.1\r\nHost: x\r\nCONTENT-type:  text/plain \r\n"
          "Content-Length: 4\r\n\r\nabcd",
          5);
  REQUIRE(outcome_of(parser) == kComplete);
  const auto request = parser.take();
  CHECK(request.method == "POST");
  CHECK(request.target == "/a?b=c");
  CHECK(request.body == "abcd");
  CHECK(request.headers == std::vector<Header>{{"Host", "x"},
                                               {"CONTENT-type", "text/plain"},
                                               {"Content-Length", "4"}});
  CHECK(request.header("content-Type") == "text/plain");
  CHECK(request.header("content").empty());
  CHECK_FALSE(request.http_1_0);
  CHECK(request.keep_alive);
}

TEST_CASE("the transfer coding is undone, and trailers are no headers") {
  auto parser = fed(kChunked + "4\r\nabcd\r\n2\r\nef\r\n0\r\nHost: evil\r\n\r\n", 3);
  REQUIRE(outcome_of(parser) == kComplete);
  const auto request = parser.take();
  CHECK(request.body == "abcdef");
  CHECK(request.header("Host").empty());
}

TEST_CASE("who keeps the connection") {
  struct Case {
    const char* version;
    const char* header;
    bool keep_alive;
  };
  const Case cases[] = {{"1.1", "", true},
                        {"1.1", "Connection: close\r\n", false},
                        {"1.1", "Connection: keep-alive, Close\r\n", false},
                        {"1.0", "", false},
                        {"1.0", "Connection: Keep-Alive\r\n", true}};
  for (const auto& c : cases) {
    CAPTURE(c.version);
    CAPTURE(c.header);
    RequestParser parser(kLimits);
    parser.feed(std::string("GET / HTTP/") + c.version + "\r\n" + c.header + "\r\n");
    REQUIRE(outcome_of(parser) == kComplete);
    const auto request = parser.take();
    CHECK(request.keep_alive == c.keep_alive);
    CHECK(request.http_1_0 == (std::string(c.version) == "1.0"));
  }
}

TEST_CASE("requests behind one another") {
  RequestParser parser(kLimits);
  parser.feed(kGet + "a: 1\r\n\r\n" + kPost + "Content-Length: 2\r\n\r\nabGE");
  CHECK(parser.take().header("a") == "1");
  REQUIRE(outcome_of(parser) == kComplete);
  CHECK(parser.take().body == "ab");
  CHECK(outcome_of(parser) == kHeader);
  CHECK(parser.buffered() == 2);
  parser.feed("T / HTTP/1.1\r\n\r\n");
  CHECK(parser.take().method == "GET");
  CHECK(outcome_of(parser) == Outcome{});
  CHECK(parser.buffered() == 0);
  parser.feed("nonsense");
  CHECK(outcome_of(parser) == rejected(400));
}

TEST_CASE("every byte held counts, and a rejected request holds none") {
  RequestParser parser(kLimits);
  const auto header = kPost + "Content-Length: 10\r\n\r\n";
  parser.feed(header.substr(0, 9));
  CHECK(parser.buffered() == 9);
  parser.feed(header.substr(9));
  CHECK(parser.buffered() == header.size());
  parser.feed("abc");
  CHECK(parser.buffered() == header.size() + 3);
  parser.feed("defghij and more");
  CHECK(parser.buffered() == header.size() + 19);
  (void)parser.take();
  CHECK(outcome_of(parser) == rejected(400));
  CHECK(parser.buffered() == 0);
  parser.feed(kGet + "\r\n");
  CHECK(outcome_of(parser) == rejected(400));
  CHECK(parser.buffered() == 0);
}

TEST_CASE("a client that waits for 100 is told once, unless it does not wait") {
  const auto header = kPost + "Expect: 100-Continue\r\nContent-Length: 2\r\n\r\n";
  auto waits = fed(header, 10);
  CHECK(waits.take_expectation());
  CHECK_FALSE(waits.take_expectation());
  auto sends = fed(header + "a", header.size() + 1);
  CHECK_FALSE(sends.take_expectation());
  auto says_nothing = fed(kPost + "Content-Length: 2\r\n\r\n", 10);
  CHECK_FALSE(says_nothing.take_expectation());
}
