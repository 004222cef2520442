// Real libcurl against a scripted server: what a call promises, on TCP and on a unix socket.
#include "kindlb/http/client.hpp"

#include "http/client_of.hpp"
#include "support/servers/http_server.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <latch>
#include <thread>

using namespace kindlb;
using namespace std::chrono_literals;
using core::ErrorKind;
using test::client_of;
using test::Exchange;
using test::HttpServer;
using Clock = std::chrono::steady_clock;

namespace {

std::string body_of(const core::Result<http::Response>& response) {
  return response ? response->body : response.error().text();
}

/// The kind of a call that had to fail.
std::string kind_of(const core::Result<http::Response>& response) {
  return response ? "success" : core::name_of(response.error().kind);
}

}  // namespace

TEST_CASE("a request arrives as it was written") {
  for (const bool unix_socket : {false, true}) {
    CAPTURE(unix_socket);
    test::Received seen;
    HttpServer server(
        [&](Exchange& exchange) {
          seen = exchange.request();
          exchange.answer(201, "made", {{"X-Answer", "yes"}});
        },
        {.unix_socket = unix_socket});
    const auto client = client_of(server);
    const auto response =
        client->send({.method = "POST",
                      .target = "/v1/things?all=1&x=%7B%22",
                      .headers = {{"Content-Type", "application/json"}, {"X-Empty", ""}},
                      .body = std::string("{\0}", 3)});
    REQUIRE(response.ok());
    CHECK(response->status == 201);
    CHECK(response->body == "made");
    CHECK(response->header("x-answer") == "yes");
    CHECK(response->header("x-none") == "");
    CHECK(seen.method == "POST");
    CHECK(seen.target == "/v1/things?all=1&x=%7B%22");
    CHECK(seen.body == std::string("{\0}", 3));
    CHECK(seen.header("Content-Type") == "application/json");
    CHECK(seen.header("Expect") == "");
    CHECK(seen.header("Authorization") == "");
    CHECK(seen.header("User-Agent").starts_with("kindlb/"));
  }
}

TEST_CASE("methods carry a body, or a length of zero, or neither") {
  struct Case {
    const char* method;
    const char* body;
    const char* length;
  };
  HttpServer server([](Exchange& exchange) {
    const auto& request = exchange.request();
    if (request.method == "HEAD")
      return void(exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"));
    exchange.answer(200, request.method + "|" + request.body + "|" +
                             request.header("Content-Length") + "|" +
                             request.header("Content-Type"));
  });
  const auto client = client_of(server);
  for (const auto& [method, body, length] :
       {Case{"GET", "", ""}, Case{"DELETE", "", ""}, Case{"DELETE", "why", "3"},
        Case{"POST", "", "0"}, Case{"PUT", "x", "1"}, Case{"PATCH", "yy", "2"}}) {
    CAPTURE(method);
    CHECK(body_of(client->send({.method = method, .body = body})) ==
          std::string(method) + "|" + body + "|" + length + "|");
  }
  CHECK(client->send({.method = "HEAD"}).value().status == 200);
  CHECK(body_of(client->send({.method = "GET"})) == "GET|||");
}

TEST_CASE("a large body arrives whole") {
  HttpServer server([](Exchange& exchange) { exchange.answer(200, exchange.request().body); },
                    {.unix_socket = true});
  const auto client = client_of(server);
  std::string large(3'000'000, 'a');
  for (std::size_t i = 0; i < large.size(); i += 997) large[i] = static_cast<char>('a' + i % 26);
  const auto response = client->send({.method = "POST", .body = large});
  REQUIRE(response.ok());
  CHECK((response->body == large));
}

TEST_CASE("calls in a row share one connection, calls side by side do not wait") {
  std::latch all_here(8);
  HttpServer server([&](Exchange& exchange) {
    if (exchange.request().target == "/together") all_here.arrive_and_wait();
    exchange.answer(200, "ok");
  });
  const auto client = client_of(server);
  for (int i = 0; i < 5; ++i) REQUIRE(client->send({}).ok());
  CHECK(server.connections() == 1);

  std::vector<std::jthread> callers;
  std::atomic<int> good{0};
  for (int i = 0; i < 8; ++i)
    callers.emplace_back([&] { good += client->send({.target = "/together"}).ok() ? 1 : 0; });
  callers.clear();
  CHECK(good == 8);
  CHECK(server.connections() == 8);
  // The bound on idle connections: the burst's other four were closed.
  CHECK(server.wait_until_open(4));
}

TEST_CASE("a connection that the server closed meanwhile is not an error") {
  HttpServer server([](Exchange& exchange) { exchange.answer(200, exchange.request().body); });
  const auto client = client_of(server);
  for (int round = 0; round < 3; ++round) {
    CHECK(body_of(client->send({.method = "POST", .body = "again"})) == "again");
    server.cut_connections();
  }
  CHECK(server.connections() == 3);
}

TEST_CASE("a connection cut just as it is used again is retried on a fresh one") {
  std::atomic<int> requests{0};
  HttpServer server([&](Exchange& exchange) {
    // The second request reaches a server that has made up its mind to close: no byte comes back.
    if (++requests == 2) return exchange.hang_up();
    exchange.answer(200, "ok");
  });
  const auto client = client_of(server);
  CHECK(body_of(client->send({})) == "ok");
  CHECK(body_of(client->send({.method = "POST", .body = "x"})) == "ok");
  CHECK(requests == 3);
}

TEST_CASE("each failure has its kind and says where") {
  HttpServer server([](Exchange& exchange) {
    const std::string& whole = exchange.request().target;
    const std::string asked = whole.substr(0, whole.find('?'));
    exchange.hang_up();
    if (asked == "/stall") exchange.stall();
    if (asked == "/half") exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    if (asked == "/half-chunks") {
      exchange.start_chunks();
      exchange.chunk("half");
    }
    if (asked == "/noise") exchange.send("\x01\x02\x03 not http at all\r\n\r\n");
    if (asked == "/large") exchange.answer(200, std::string(5'000, 'x'));
    if (asked == "/endless") {
      exchange.start_chunks();
      while (exchange.send("5\r\nxxxxx\r\n")) continue;
    }
    if (asked == "/headers") {
      exchange.send("HTTP/1.1 200 OK\r\n");
      while (exchange.send("X-More: and more of it, and more of it, and more of it\r\n")) continue;
    }
  });
  const auto client = client_of(server);
  struct Case {
    const char* target;
    ErrorKind kind;
  };
  for (const auto& [target, kind] :
       {Case{"/nothing", ErrorKind::Unavailable}, Case{"/stall", ErrorKind::Timeout},
        Case{"/half", ErrorKind::Unavailable}, Case{"/half-chunks", ErrorKind::Unavailable},
        Case{"/noise", ErrorKind::Protocol}, Case{"/large", ErrorKind::TooLarge},
        Case{"/endless", ErrorKind::TooLarge}, Case{"/headers", ErrorKind::TooLarge}}) {
    SUBCASE(target) {
      const auto timeout = kind == ErrorKind::Timeout ? 100ms : 10'000ms;
      const auto response = client->send(
          {.target = std::string(target) + "?secret=1", .timeout = timeout, .max_body = 4'096});
      CHECK(kind_of(response) == core::name_of(kind));
      CHECK(response.error().operation == std::string("GET ") + target);
      CHECK(response.error().detail.find("127.0.0.1") != std::string::npos);
    }
  }
}

TEST_CASE("an unreachable place says why") {
  const auto failure = [](const std::string& url) {
    auto client = http::make_client({.url = url});
    REQUIRE(client.ok());
    return (*client)->send({.timeout = 5s}).error();
  };
  std::string gone;
  {
    HttpServer server([](Exchange&) {});
    gone = server.url();
  }
  CHECK(failure(gone).kind == ErrorKind::Unavailable);
  CHECK(failure(gone).detail.find("Connection refused") != std::string::npos);
  const auto missing = failure("unix:///nonexistent/kindlb.sock");
  CHECK(missing.kind == ErrorKind::Unavailable);
  CHECK(missing.detail == "unix:///nonexistent/kindlb.sock: No such file or directory");
}

TEST_CASE("what cannot be written as one HTTP request is refused") {
  HttpServer server([](Exchange& exchange) { exchange.answer(200, "ok"); });
  const auto client = client_of(server);
  CHECK(kind_of(client->send({.method = "GET /\r\nX: y"})) == "Invalid");
  CHECK(kind_of(client->send({.target = "/a b"})) == "Invalid");
  CHECK(kind_of(client->send({.target = "/a\r\nX: y"})) == "Invalid");
  CHECK(kind_of(client->send({.target = "no-slash"})) == "Invalid");
  CHECK(kind_of(client->send({.headers = {{"X", "a\r\nY: b"}}})) == "Invalid");
  CHECK(kind_of(client->send({.headers = {{"X Y", "a"}}})) == "Invalid");
  CHECK(server.connections() == 0);
}

TEST_CASE("a proxy of the environment is not for local engines") {
  HttpServer server([](Exchange& exchange) { exchange.answer(200, exchange.request().target); });
  ::setenv("http_proxy", "http://127.0.0.1:9", 1);
  const auto body = body_of(client_of(server)->send({.target = "/direct"}));
  ::unsetenv("http_proxy");
  CHECK(body == "/direct");
}

TEST_CASE("a bearer token goes with every request") {
  HttpServer server(
      [](Exchange& exchange) { exchange.answer(200, exchange.request().header("Authorization")); });
  auto client = http::make_client({.url = server.url(), .bearer_token = "abc.def"});
  REQUIRE(client.ok());
  CHECK(body_of((*client)->send({})) == "Bearer abc.def");
}

TEST_CASE("a path in the endpoint's URL comes before every target") {
  HttpServer server([](Exchange& exchange) { exchange.answer(200, exchange.request().target); });
  auto client = http::make_client({.url = server.url() + "/clusters/one/"});
  REQUIRE(client.ok());
  CHECK(body_of((*client)->send({.target = "/api?x=1"})) == "/clusters/one/api?x=1");
}

TEST_CASE("an interim answer and trailers do not confuse the real one") {
  HttpServer server([](Exchange& exchange) {
    exchange.send("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
    exchange.start_chunks(200, {{"A", "1"}});
    exchange.chunk("body");
    exchange.send("0\r\nA: 2\r\n\r\n");
  });
  const auto response = client_of(server)->send({});
  REQUIRE(response.ok());
  CHECK(response->body == "body");
  CHECK(response->header("Link") == "");
  CHECK(response->header("A") == "1");
  CHECK(response->headers.size() == 2);  // A and Transfer-Encoding; the trailer is not a header
}

TEST_CASE("status to kind") {
  struct Case {
    int status;
    ErrorKind kind;
  };
  for (const auto& [status, kind] :
       {Case{400, ErrorKind::Invalid}, Case{401, ErrorKind::Denied}, Case{403, ErrorKind::Denied},
        Case{404, ErrorKind::NotFound}, Case{408, ErrorKind::Timeout},
        Case{409, ErrorKind::Conflict}, Case{410, ErrorKind::Expired},
        Case{422, ErrorKind::Invalid}, Case{429, ErrorKind::Unavailable},
        Case{500, ErrorKind::Unavailable}, Case{503, ErrorKind::Unavailable},
        Case{504, ErrorKind::Timeout}, Case{302, ErrorKind::Protocol}}) {
    CAPTURE(status);
    CHECK(http::kind_of_status(status) == kind);
  }
}
