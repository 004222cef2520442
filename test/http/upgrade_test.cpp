// Taking over a connection: the answer's head, what comes with it, and raw bytes after it.
#include "kindlb/http/client.hpp"
#include "support/servers/http_server.hpp"

#include <poll.h>

#include <doctest/doctest.h>

#include <semaphore>
#include <thread>

using namespace kindlb;
using namespace std::chrono_literals;
using core::ErrorKind;
using test::Exchange;
using test::HttpServer;
using Clock = std::chrono::steady_clock;

namespace {

constexpr const char* kUpgraded =
    "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n";

void echo(Exchange& exchange) {
  exchange.send(kUpgraded);
  for (;;) {
    const std::string bytes = exchange.receive();
    if (bytes.empty() || !exchange.send(bytes)) return exchange.hang_up();
  }
}

core::Result<std::unique_ptr<http::Duplex>> upgrade(const HttpServer& server,
                                                    http::Request request = {.method = "POST"},
                                                    std::stop_token stop = {}) {
  auto client = http::make_client({.url = server.url()});
  REQUIRE(client.ok());
  return (*client)->upgrade(request, stop);  // the Duplex outlives its client
}

/// Exactly `size` bytes, or what came before the end or the deadline.
std::string read_exactly(http::Duplex& duplex, std::size_t size) {
  std::string all;
  const auto deadline = Clock::now() + 20s;
  while (all.size() < size && Clock::now() < deadline) {
    char buffer[1000];
    auto count = duplex.read(buffer);
    if (!count) return all;
    all.append(buffer, *count);
    pollfd readable{duplex.fd(), POLLIN, 0};
    if (*count == 0) ::poll(&readable, 1, 100);
  }
  return all;
}

}  // namespace

TEST_CASE("bytes go both ways, on TCP and on a unix socket") {
  for (const bool unix_socket : {false, true}) {
    CAPTURE(unix_socket);
    test::Received seen;
    HttpServer server(
        [&](Exchange& exchange) {
          seen = exchange.request();
          echo(exchange);
        },
        {.unix_socket = unix_socket});
    auto duplex = upgrade(server, {.method = "POST",
                                   .target = "/exec/1/start?x=y",
                                   .headers = {{"Content-Type", "application/json"}},
                                   .body = "{}"});
    REQUIRE(duplex.ok());
    CHECK(seen.method == "POST");
    CHECK(seen.target == "/exec/1/start?x=y");
    CHECK(seen.body == "{}");
    CHECK(seen.header("Connection") == "Upgrade");
    CHECK(seen.header("Upgrade") == "tcp");
    CHECK(seen.header("Content-Type") == "application/json");

    char nothing[10];
    CHECK((*duplex)->read(nothing).value() == 0);
    REQUIRE((*duplex)->write("hello", 5s).ok());
    CHECK(read_exactly(**duplex, 5) == "hello");
    duplex->reset();
    CHECK(server.wait_until_idle());
  }
}

TEST_CASE("what comes with the head belongs to the stream, wherever it was cut") {
  const std::string all = std::string("HTTP/1.1 100 Continue\r\n\r\n") + kUpgraded + "early bird";
  for (std::size_t cut = 1; cut < all.size(); cut += 7) {
    CAPTURE(cut);
    HttpServer server([&](Exchange& exchange) {
      exchange.send(all.substr(0, cut));
      exchange.send(all.substr(cut));
      exchange.stall();
    });
    auto duplex = upgrade(server);
    REQUIRE(duplex.ok());
    CHECK(read_exactly(**duplex, 10) == "early bird");
  }
}

TEST_CASE("200 hands over the connection too") {
  HttpServer server([](Exchange& exchange) {
    exchange.send("HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\n\r\nraw");
    exchange.hang_up();
  });
  auto duplex = upgrade(server);
  REQUIRE(duplex.ok());
  CHECK(read_exactly(**duplex, 3) == "raw");
  char buffer[10];
  auto end = (*duplex)->read(buffer);
  while (end.ok() && *end == 0) end = (*duplex)->read(buffer);
  CHECK(end.error().kind == ErrorKind::Unavailable);
  CHECK((*duplex)->read(buffer).error().kind == ErrorKind::Unavailable);
}

TEST_CASE("a refusal keeps the server's text") {
  struct Case {
    const char* name;
    const char* answer;
    ErrorKind kind;
    const char* detail;
  };
  for (const auto& [name, answer, kind, detail] :
       {Case{"with a length", "HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\n\r\nno such",
             ErrorKind::NotFound, "no such"},
        Case{"in chunks",
             "HTTP/1.1 409 Conflict\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nnot\r\n4\r\n "
             "now\r\n0\r\n\r\n",
             ErrorKind::Conflict, "not now"},
        Case{"until the end", "HTTP/1.1 500 Oops\r\n\r\nbroken", ErrorKind::Unavailable, "broken"},
        Case{"cut short", "HTTP/1.1 400 Bad\r\nContent-Length: 700\r\n\r\nonly this",
             ErrorKind::Invalid, "only this"},
        Case{"silent", "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", ErrorKind::Denied,
             "HTTP status 403"}}) {
    SUBCASE(name) {
      HttpServer server([text = std::string(answer)](Exchange& exchange) {
        exchange.send(text);
        exchange.hang_up();
      });
      const auto duplex = upgrade(server);
      REQUIRE_FALSE(duplex.ok());
      CHECK(duplex.error().kind == kind);
      CHECK(duplex.error().detail == detail);
    }
  }
}

TEST_CASE("what is not an answer is an error") {
  HttpServer server([](Exchange& exchange) {
    const std::string& target = exchange.request().target;
    exchange.hang_up();
    if (target == "/noise") exchange.send("SSH-2.0-OpenSSH_9.2\r\n\r\n");
    if (target == "/endless") {
      exchange.send("HTTP/1.1 101 X\r\n");
      while (exchange.send("X-More: and more of it, and more of it\r\n")) continue;
    }
    if (target == "/stall") exchange.stall();
  });
  const auto kind = [&](const char* target, std::chrono::milliseconds timeout = 10s) {
    return upgrade(server, {.target = target, .timeout = timeout}).error().kind;
  };
  CHECK(kind("/nothing") == ErrorKind::Unavailable);
  CHECK(kind("/noise") == ErrorKind::Protocol);
  CHECK(kind("/endless") == ErrorKind::Protocol);
  CHECK(kind("/stall", 100ms) == ErrorKind::Timeout);
}

TEST_CASE("a stop ends an unanswered upgrade within 50 ms") {
  std::binary_semaphore asked{0};
  HttpServer server([&](Exchange& exchange) {
    asked.release();
    exchange.stall();
  });
  std::stop_source stop;
  Clock::time_point stopped;
  std::jthread stopper([&] {
    (void)asked.try_acquire_for(10s);
    stopped = Clock::now();
    stop.request_stop();
  });
  const auto duplex = upgrade(server, {.method = "POST"}, stop.get_token());
  const auto ended = Clock::now();
  stopper.join();
  CHECK(duplex.error().kind == ErrorKind::Cancelled);
  CHECK(ended - stopped < 50ms);
}

TEST_CASE("one thread reads while another writes, and nothing is lost") {
  for (const bool unix_socket : {false, true}) {
    CAPTURE(unix_socket);
    HttpServer server(echo, {.unix_socket = unix_socket});
    auto duplex = upgrade(server);
    REQUIRE(duplex.ok());
    std::string sent(2'000'000, ' ');  // more than the kernel buffers: both sides must move
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>('a' + i % 23);
    std::atomic<bool> written{false};
    std::jthread writer([&] { written = (*duplex)->write(sent, 20s).ok(); });
    const std::string back = read_exactly(**duplex, sent.size());
    writer.join();
    CHECK(written);
    CHECK((back == sent));
  }
}

TEST_CASE("a peer that does not read makes a write time out, one that left makes it fail") {
  std::binary_semaphore done{0};
  HttpServer server([&](Exchange& exchange) {
    exchange.send(kUpgraded);
    exchange.hang_up();
    if (exchange.request().target == "/deaf") (void)done.try_acquire_for(20s);
  });
  const std::string large(20'000'000, 'x');
  auto deaf = upgrade(server, {.target = "/deaf"});
  REQUIRE(deaf.ok());
  CHECK((*deaf)->write(large, 200ms).error().kind == ErrorKind::Timeout);
  done.release();

  auto gone = upgrade(server, {.target = "/gone"});
  REQUIRE(gone.ok());
  CHECK((*gone)->write(large, 10s).error().kind == ErrorKind::Unavailable);
}
