// A listener without an API server behind it.

#include "http_server/listener_rig.hpp"
#include "kindlb/core/base64.hpp"

#include <stdexcept>

using namespace kindlb;
using namespace kindlb::test;

TEST_CASE("a connection carries one request after another") {
  const auto listener = start_listener();
  BareClient client(listener->port());
  for (const std::string target : {"/1", "/2", "/3"}) {
    CHECK(client.say(get(target)));
    CHECK(client.receive("GET " + target + " .").find("Connection:") == std::string::npos);
  }
  client.say(get("/4", "Connection: close\r\n"));
  CHECK(client.receive().ends_with("Connection: close\r\n\r\nGET /4 ."));
  CHECK(client.over());
}

TEST_CASE("a client of HTTP/1.0 keeps the connection only if it asks to") {
  const auto listener = start_listener();
  BareClient client(listener->port());
  client.say("GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  CHECK(client.receive("/1 .").find("Connection: keep-alive") != std::string::npos);
  client.say("GET /2 HTTP/1.0\r\n\r\n");
  CHECK(client.receive().ends_with("GET /2 ."));
  CHECK(client.over());
}

TEST_CASE("requests sent at once are answered in order") {
  const auto listener = start_listener();
  BareClient client(listener->port());
  std::string requests;
  for (int i = 0; i < 250; ++i) requests += get("/" + std::to_string(i));
  client.say(requests + post("Content-Length: 3\r\nConnection: close\r\n", "end"));
  const auto answers = client.receive();
  CHECK(answers.ends_with("POST / end."));
  std::size_t at = 0;
  for (int i = 0; i < 250 && at != std::string::npos; ++i)
    at = answers.find("GET /" + std::to_string(i) + " .", at);
  CHECK(at != std::string::npos);
}

TEST_CASE("a body may come in chunks") {
  const auto listener = start_listener();
  BareClient client(listener->port());
  client.say(post("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n"));
  client.say("4\r\ndefg\r\n0\r\n\r\n" + get("/next"));
  CHECK(client.receive("/next .").find("POST / abcdefg.") != std::string::npos);
}

TEST_CASE("a client that waits for 100 is told to go on") {
  const auto listener = start_listener();
  BareClient client(listener->port());
  client.say(post("Expect: 100-continue\r\nContent-Length: 3\r\n", ""));
  CHECK(client.receive("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
  client.say("abc");
  CHECK(client.receive("POST / abc.").find("HTTP/1.1 200 OK") != std::string::npos);
}

TEST_CASE("HEAD gets a header, and the connection goes on") {
  const auto listener = start_listener();
  BareClient client(listener->port());
  client.say("HEAD /a HTTP/1.1\r\n\r\n" + get("/b"));
  const auto answers = client.receive("GET /b .");
  CHECK(answers.find("HEAD") == std::string::npos);
  CHECK(answers.find("Content-Length: 9\r\n\r\nHTTP/1.1") != std::string::npos);
}

TEST_CASE("a client that has finished sending still gets its answer") {
  const auto listener = start_listener();
  BareClient client(listener->port());
  client.say(get("/a"));
  client.finish();
  CHECK(client.receive().ends_with("GET /a ."));
}

TEST_CASE("a handler can end the connection, and may throw") {
  const auto listener = start_listener({}, [](const http_server::Request& request) {
    if (request.target == "/throw") throw std::runtime_error("no");
    return http_server::Response{.body = "bye", .close = true};
  });
  BareClient client(listener->port());
  client.say(get("/throw"));
  CHECK(client.receive("Error\n").starts_with("HTTP/1.1 500 Internal Server Error\r\n"));
  client.say(get("/") + get("/"));
  CHECK(client.receive().ends_with("Connection: close\r\n\r\nbye"));
  CHECK(client.over());
}

TEST_CASE("one port for TLS and plain HTTP") {
  const auto tls = http_server::TlsContext::make("127.0.0.1");
  REQUIRE(tls.ok());
  http_server::HttpListener::Options options;
  options.tls = *tls;
  const auto listener = start_listener(std::move(options));
  const auto address = "127.0.0.1:" + std::to_string(listener->port());
  const auto plain = http::make_client({.url = "http://" + address});
  const auto secure =
      http::make_client({.url = "https://" + address,
                         .tls = {.ca_pem = *core::decode_base64((*tls)->certificate())}});
  REQUIRE(plain.ok());
  REQUIRE(secure.ok());
  const std::string large(500'000, 'x');  // many records
  for (const auto* client : {&*plain, &*secure})
    for (const auto& body : {std::string("a"), large, std::string("b")}) {
      const auto answer = (*client)->send({.method = "POST", .target = "/", .body = body});
      REQUIRE(answer.ok());
      CHECK(answer->body == "POST / " + body + ".");
    }
}

TEST_CASE("an address that is taken is an error") {
  const auto listener = start_listener();
  http_server::HttpListener second({}, repeat);
  const auto listens = second.listen("127.0.0.1", listener->port());
  REQUIRE_FALSE(listens.ok());
  CHECK(listens.error().kind == core::ErrorKind::Unavailable);
  CHECK(second.port() == 0);
  listener->close();
  http_server::HttpListener third({}, repeat);
  CHECK(third.listen("127.0.0.1", listener->port()).ok());
}

TEST_CASE("a listener that never listened can be closed") {
  http_server::HttpListener listener({}, repeat);
  CHECK_FALSE(listener.listen("192.0.2.1", 0).ok());
  listener.close();
  listener.close();
}
