// Responses that are sent while they come into being.

#include "http_server/listener_rig.hpp"

#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

using namespace kindlb;
using namespace kindlb::test;

namespace {
/// Streams on demand: a producer returns what was pushed, and waits a moment if there is nothing.
class Source {
 public:
  http_server::Handler handler() {
    return [this](const http_server::Request& request) {
      if (request.target != "/stream") return repeat(request);
      ++open;
      const std::shared_ptr<void> closing(nullptr, [this](void*) { --open; });
      return http_server::Response{.producer = [this, closing] { return next(); }};
    };
  }
  void push(std::optional<std::string> piece) {
    const std::lock_guard lock(mutex_);
    pieces_.push_back(std::move(piece));
  }

  std::atomic<int> open{0};

 private:
  std::optional<std::string> next() {
    std::this_thread::sleep_for(1ms);
    const std::lock_guard lock(mutex_);
    if (pieces_.empty()) return "";
    auto out = std::move(pieces_.front());
    pieces_.erase(pieces_.begin());
    return out;
  }

  std::mutex mutex_;
  std::vector<std::optional<std::string>> pieces_;
};
}  // namespace

TEST_CASE("pieces arrive as they come, and the connection can be used again") {
  Source source;
  const auto listener = start_listener({}, source.handler());
  BareClient client(listener->port());
  client.say(get("/stream"));
  CHECK(client.receive("\r\n\r\n").find("Transfer-Encoding: chunked\r\n") != std::string::npos);
  source.push("one");
  CHECK(client.receive("3\r\none\r\n").ends_with("3\r\none\r\n"));
  source.push("three");
  CHECK(client.receive("5\r\nthree\r\n").ends_with("5\r\nthree\r\n"));
  source.push(std::nullopt);
  CHECK(client.receive("0\r\n\r\n").ends_with("0\r\n\r\n"));
  CHECK(eventually([&] { return source.open == 0; }));
  client.say(get("/a"));
  CHECK(client.receive("GET /a .").ends_with("GET /a ."));
}

TEST_CASE("a stream ends when its client leaves, even if there is nothing to send") {
  Source source;
  const auto listener = start_listener({}, source.handler());
  {
    BareClient client(listener->port());
    client.say(get("/stream"));
    client.receive("\r\n\r\n");
    CHECK(source.open == 1);
  }
  CHECK(eventually([&] { return source.open == 0; }));
}

TEST_CASE("streams end with the listener") {
  Source source;
  const auto listener = start_listener({}, source.handler());
  BareClient first(listener->port());
  BareClient second(listener->port());
  for (auto* client : {&first, &second}) {
    client->say(get("/stream"));
    client->receive("\r\n\r\n");
  }
  BareClient idle(listener->port());
  CHECK(source.open == 2);
  listener->close();
  CHECK(source.open == 0);
  for (auto* client : {&first, &second, &idle}) {
    client->receive();
    CHECK(client->over());
  }
}

TEST_CASE("our own client reads a stream over TLS, and plain") {
  const auto tls = http_server::TlsContext::make("127.0.0.1");
  REQUIRE(tls.ok());
  Source source;
  http_server::HttpListener::Options options;
  options.tls = *tls;
  const auto listener = start_listener(std::move(options), source.handler());
  const auto address = "127.0.0.1:" + std::to_string(listener->port());
  for (const std::string scheme : {"http://", "https://"}) {
    const auto client = http::make_client({.url = scheme + address, .tls = {.insecure = true}});
    REQUIRE(client.ok());
    source.push("hello ");
    source.push(std::string(100'000, 'x'));
    source.push(std::nullopt);
    std::string body;
    const auto streamed = (*client)->stream({.target = "/stream"}, [&](std::string_view chunk) {
      body += chunk;
      return true;
    });
    CHECK(streamed.ok());
    CHECK(body == "hello " + std::string(100'000, 'x'));
  }
}
