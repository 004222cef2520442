// Streaming calls: chunks as they come, the end from either side, silence, and a stop from outside.
#include "http/client_of.hpp"
#include "kindlb/http/client.hpp"
#include "support/servers/http_server.hpp"

#include <doctest/doctest.h>

#include <semaphore>
#include <thread>

using namespace kindlb;
using namespace std::chrono_literals;
using core::ErrorKind;
using test::client_of;
using test::Exchange;
using test::HttpServer;
using Clock = std::chrono::steady_clock;

namespace {

std::chrono::milliseconds since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
}

const http::ChunkSink kIgnore = [](std::string_view) { return true; };

}  // namespace

TEST_CASE("chunks arrive when they are sent, and the opening before them") {
  std::binary_semaphore opened{0};
  std::binary_semaphore got_one{0};
  std::atomic<bool> in_time{true};
  HttpServer server([&](Exchange& exchange) {
    exchange.start_chunks();
    in_time = in_time && opened.try_acquire_for(10s);
    exchange.chunk("one");
    in_time = in_time && got_one.try_acquire_for(10s);  // not buffered until the end
    exchange.chunk("two");
    exchange.end_chunks();
  });
  std::string journal;
  const auto response = client_of(server)->stream({.on_open =
                                                       [&] {
                                                         journal += "open ";
                                                         opened.release();
                                                       }},
                                                  [&](std::string_view chunk) {
                                                    journal += chunk;
                                                    journal += ' ';
                                                    if (chunk == "one") got_one.release();
                                                    return true;
                                                  });
  REQUIRE(response.ok());
  CHECK(in_time);
  CHECK(journal == "open one two ");
  CHECK(response->body == "");
}

TEST_CASE("a refusal is collected, not streamed, and does not count as opened") {
  HttpServer server([](Exchange& exchange) { exchange.answer(410, "too old"); });
  bool opened = false;
  bool streamed = false;
  const auto response =
      client_of(server)->stream({.on_open = [&] { opened = true; }}, [&](std::string_view) {
        streamed = true;
        return true;
      });
  REQUIRE(response.ok());
  CHECK(response->status == 410);
  CHECK(response->body == "too old");
  CHECK_FALSE(opened);
  CHECK_FALSE(streamed);
}

TEST_CASE("a sink that has had enough ends the stream with success") {
  HttpServer server([](Exchange& exchange) {
    exchange.start_chunks();
    exchange.chunk("enough");
    exchange.stall();
  });
  const auto client = client_of(server);
  const auto response = client->stream({}, [](std::string_view) { return false; });
  REQUIRE(response.ok());
  CHECK(response->status == 200);
  CHECK(server.wait_until_idle());  // no endless answer is left running
}

TEST_CASE("a stream that breaks is an error, one that ends is not") {
  HttpServer server([](Exchange& exchange) {
    exchange.start_chunks();
    exchange.chunk("x");
    if (exchange.request().target == "/ends") exchange.end_chunks();
    exchange.hang_up();
  });
  const auto client = client_of(server);
  CHECK(client->stream({.target = "/ends"}, kIgnore).ok());
  CHECK(client->stream({.target = "/breaks"}, kIgnore).error().kind == ErrorKind::Unavailable);
}

TEST_CASE("silence ends a stream that has an idle timeout") {
  HttpServer server([](Exchange& exchange) {
    if (exchange.request().target == "/no-headers") return exchange.stall();
    exchange.start_chunks();
    if (exchange.request().target == "/some") exchange.chunk("x");
    exchange.stall();
  });
  const auto client = client_of(server);
  for (const char* target : {"/some", "/none", "/no-headers"}) {
    CAPTURE(target);
    const auto start = Clock::now();
    const auto response =
        client->stream({.target = target, .timeout = 150ms, .idle_timeout = 150ms}, kIgnore);
    CHECK(response.error().kind == ErrorKind::Timeout);
    CHECK(since(start) >= 150ms);
    CHECK(since(start) < 2s);
  }
}

TEST_CASE("the deadline of a stream is for its headers only") {
  std::binary_semaphore late{0};
  HttpServer server([&](Exchange& exchange) {
    exchange.start_chunks();
    (void)late.try_acquire_for(300ms);  // longer than the deadline below
    exchange.chunk("late");
    exchange.end_chunks();
  });
  std::string got;
  const auto response = client_of(server)->stream({.timeout = 100ms}, [&](std::string_view chunk) {
    got += chunk;
    return true;
  });
  CHECK(response.ok());
  CHECK(got == "late");
}

TEST_CASE("a stop ends any call within 50 ms") {
  struct Case {
    const char* name;
    const char* target;
    bool unix_socket;
    bool stream;
  };
  for (const auto& [name, target, unix_socket, streams] :
       {Case{"a silent stream", "/stream", false, true},
        Case{"a silent stream on a unix socket", "/stream", true, true},
        Case{"a stream without headers", "/stall", false, true},
        Case{"an unanswered call", "/stall", true, false}}) {
    SUBCASE(name) {
      std::binary_semaphore waiting{0};
      HttpServer server(
          [&](Exchange& exchange) {
            if (exchange.request().target == "/stream") {
              exchange.start_chunks();
              exchange.chunk("x");
            } else {
              waiting.release();
            }
            exchange.stall();
          },
          {.unix_socket = unix_socket});
      const auto client = client_of(server);
      std::stop_source stop;
      Clock::time_point stopped;
      std::jthread stopper([&] {
        (void)waiting.try_acquire_for(10s);
        std::this_thread::sleep_for(100ms);  // let the call settle into its wait: not a condition
        stopped = Clock::now();
        stop.request_stop();
      });
      const auto sink = [&](std::string_view) {
        waiting.release();
        return true;
      };
      const http::Request request{.target = target};
      const auto response = streams ? client->stream(request, sink, stop.get_token())
                                    : client->send(request, stop.get_token());
      const auto ended = Clock::now();
      stopper.join();
      CHECK(response.error().kind == ErrorKind::Cancelled);
      CHECK(ended - stopped < 50ms);
      CHECK(server.wait_until_idle());
    }
  }
}

TEST_CASE("a stop requested before the call lets nothing happen") {
  HttpServer server([](Exchange& exchange) { exchange.answer(200, "ok"); });
  const auto client = client_of(server);
  std::stop_source stop;
  stop.request_stop();
  CHECK(client->send({}, stop.get_token()).error().kind == ErrorKind::Cancelled);
  CHECK(server.connections() == 0);
  CHECK(client->send({}).ok());  // and the handles is as good as before
}
