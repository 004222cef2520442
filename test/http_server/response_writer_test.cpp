#include "response_writer.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace kindlb::http_server;

namespace {
/// A client that reads until it has had enough.
class FakeTransport final : public Transport {
 public:
  int fd() const override { return -1; }  // poll() ignores it: neither readable nor closed
  IoResult receive(char*, std::size_t) override { return {IoState::WouldBlock, 0}; }
  IoResult transmit(std::string_view bytes) override {
    if (sent.size() >= leaves_after) return {IoState::Closed, 0};
    const auto size = std::min<std::size_t>(bytes.size(), 100);
    sent += bytes.substr(0, size);
    return {IoState::Transferred, size};
  }
  void finish() override {}

  std::string sent;
  std::size_t leaves_after = 1'000'000;
};

struct Written {
  std::string text;
  bool reusable = false;
};

Written write(const Request& request, const Response& response) {
  FakeTransport transport;
  const bool reusable = write_response(transport, request, response, {});
  return {transport.sent, reusable};
}

Producer produce(std::vector<std::string> pieces) {
  return [pieces, next = std::size_t{0}]() mutable -> std::optional<std::string> {
    if (next == pieces.size()) return std::nullopt;
    return pieces[next++];
  };
}

const Request kRequest{.method = "GET", .target = "/"};
const Response kHello{.headers = {{"Content-Type", "text/plain"}, {"X-A", "b"}}, .body = "hello"};
}  // namespace

TEST_CASE("a response with a body") {
  const auto written = write(kRequest, kHello);
  CHECK(written.text ==
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-A: b\r\nContent-Length: 5\r\n\r\nhello");
  CHECK(written.reusable);
}

TEST_CASE("a response without a body says so") {
  CHECK(write(kRequest, {.status = 201}).text ==
        "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
}

TEST_CASE("HEAD gets the header only") {
  const Request head{.method = "HEAD", .target = "/"};
  CHECK(write(head, kHello).text ==
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-A: b\r\nContent-Length: 5\r\n\r\n");
  const auto streamed = write(head, {.producer = produce({"a"})});
  CHECK(streamed.text == "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  CHECK(streamed.reusable);
}

TEST_CASE("a large body arrives as a whole") {
  const Response large{.body = std::string(200'000, 'x')};
  CHECK(write(kRequest, large).text ==
        "HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + large.body);
}

TEST_CASE("a streamed body is chunked, and empty pieces are not sent") {
  const auto written =
      write(kRequest, {.producer = produce({"hello", "", std::string(20, 'x'), ""})});
  CHECK(written.text ==
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        "5\r\nhello\r\n14\r\nxxxxxxxxxxxxxxxxxxxx\r\n0\r\n\r\n");
  CHECK(written.reusable);
}

TEST_CASE("clients of HTTP/1.0 know no chunks") {
  const Request old{.method = "GET", .target = "/", .http_1_0 = true, .keep_alive = true};
  const auto streamed = write(old, {.producer = produce({"hello", "you"})});
  CHECK(streamed.text == "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhelloyou");
  CHECK_FALSE(streamed.reusable);
  const auto whole = write(old, {.body = "a"});
  CHECK(whole.text == "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\na");
  CHECK(whole.reusable);
}

TEST_CASE("the connection ends when either side wants it to") {
  const std::string closing = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  const auto by_client = write({.method = "GET", .target = "/", .keep_alive = false}, {});
  CHECK(by_client.text == closing);
  CHECK_FALSE(by_client.reusable);
  const auto by_handler = write(kRequest, {.close = true});
  CHECK(by_handler.text == closing);
  CHECK_FALSE(by_handler.reusable);
}

TEST_CASE("a stream ends when its client leaves, or the listener stops") {
  int calls = 0;
  const Response endless{.producer = [&] {
    ++calls;
    return std::optional<std::string>("hello");
  }};
  FakeTransport transport;
  SUBCASE("the client leaves") {
    transport.leaves_after = 300;
    CHECK_FALSE(write_response(transport, kRequest, endless, {}));
    CHECK(transport.sent.size() < 400);
  }
  SUBCASE("the listener stops") {
    std::stop_source stop;
    stop.request_stop();
    CHECK_FALSE(write_response(transport, kRequest, endless, stop.get_token()));
    CHECK(calls <= 1);
  }
}

TEST_CASE("errors for people") {
  CHECK(to_closing_text(plain_error(431)) ==
        "HTTP/1.1 431 Request Header Fields Too Large\r\n"
        "Content-Type: text/plain; charset=utf-8\r\n"
        "Content-Length: 32\r\nConnection: close\r\n\r\nRequest Header Fields Too Large\n");
}
