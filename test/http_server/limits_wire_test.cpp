// What clients may use up, by default answered with plain text.

#include "http_server/listener_rig.hpp"

#include <algorithm>
#include <vector>

using namespace kindlb;
using namespace kindlb::test;

namespace {
http_server::HttpListener::Options with_limits(const http_server::ConnectionLimits& limits) {
  http_server::HttpListener::Options out;
  out.limits = limits;
  return out;
}

void check_refused(BareClient& client, int status) {
  const auto answer = client.receive();
  CAPTURE(answer);
  CHECK(answer.starts_with("HTTP/1.1 " + std::to_string(status) + " "));
  CHECK(answer.find("Connection: close\r\n") != std::string::npos);
  CHECK(client.over());
}
}  // namespace

TEST_CASE("slow clients get 408, however little they send at a time") {
  const auto listener =
      start_listener(with_limits({.header_timeout = 100ms, .request_timeout = 300ms}));
  BareClient client(listener->port());
  SUBCASE("a header") {
    client.say("GET / HTTP/1.1\r\nHos");
  }
  SUBCASE("a header that grows") {
    client.say("GET / HTTP/1.1\r\nHos");
    while (client.receive("\r\n", 10ms).empty() && client.say("t")) {
    }
  }
  SUBCASE("a body") {
    client.say(post("Content-Length: 5\r\n", "abc"));
  }
  SUBCASE("a body in chunks") {
    client.say(post("Transfer-Encoding: chunked\r\n", "5\r\nabc"));
  }
  SUBCASE("the body after 100") {
    client.say(post("Expect: 100-continue\r\nContent-Length: 5\r\n", ""));
    client.receive("\r\n\r\n");
    CHECK(client.receive().find("HTTP/1.1 408 ") != std::string::npos);
    return;
  }
  SUBCASE("the second request") {
    client.say(get("/") + "GET /");
    client.receive("HTTP/1.1 408 ");
    CHECK(client.receive().find("HTTP/1.1 408 ") != std::string::npos);
    return;
  }
  check_refused(client, 408);
}

TEST_CASE("requests that are too large are refused, also when they are sent to the end") {
  http_server::ConnectionLimits limits;
  limits.request = {.header = 1000, .fields = 10, .target = 100, .body = 1000};
  const auto listener = start_listener(with_limits(limits));
  BareClient client(listener->port());
  SUBCASE("a header") {
    client.say(get("/", "a: " + std::string(100'000, 'x') + "\r\n"));
    check_refused(client, 431);
  }
  SUBCASE("many fields") {
    std::string fields;
    for (int i = 0; i < 20; ++i) fields += "a: b\r\n";
    client.say(get("/", fields));
    check_refused(client, 431);
  }
  SUBCASE("a target") {
    client.say(get("/" + std::string(200, 'x')));
    check_refused(client, 414);
  }
  SUBCASE("a body") {
    client.say(post("Content-Length: 1000000\r\n", std::string(1'000'000, 'x')));
    check_refused(client, 413);
  }
  SUBCASE("a body that is asked about") {
    client.say(post("Expect: 100-continue\r\nContent-Length: 1001\r\n", ""));
    check_refused(client, 413);
  }
  SUBCASE("chunks") {
    client.say(post("Transfer-Encoding: chunked\r\n", "3e9\r\n" + std::string(1001, 'x')));
    check_refused(client, 413);
  }
}

TEST_CASE("what follows a refused request is not taken for another one") {
  const auto listener = start_listener();
  BareClient client(listener->port());
  client.say(
      post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n" + get("/smuggled")));
  CHECK(client.receive().find("smuggled") == std::string::npos);
  CHECK(client.over());
}

TEST_CASE("idle connections are closed without a word") {
  const auto listener = start_listener(with_limits({.idle = 500ms}));
  BareClient silent(listener->port());
  BareClient served(listener->port());
  served.say(get("/a"));
  CHECK(served.receive().ends_with("GET /a ."));
  CHECK(served.over());
  CHECK(silent.receive().empty());
  CHECK(silent.over());
}

TEST_CASE("the connection that waits longest makes room for another") {
  const auto listener = start_listener(with_limits({.connections = 2}));
  BareClient first(listener->port());
  BareClient second(listener->port());
  BareClient third(listener->port());
  first.receive();
  CHECK(first.over());
  third.say(get("/a"));
  CHECK(third.receive("GET /a .").ends_with("GET /a ."));
}

TEST_CASE("incomplete requests share a budget, beyond which one gets 429") {
  const auto listener = start_listener(with_limits({.buffered = 10'000}));
  std::vector<std::unique_ptr<BareClient>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<BareClient>(listener->port()));
    clients.back()->say(post("Content-Length: 4000\r\n", std::string(3999, 'x')));
  }
  // Which one it is depends on the order in which they are read.
  const auto refused = [](const auto& client) { return !client->receive("\r\n", 10ms).empty(); };
  auto found = clients.end();
  CHECK(eventually([&] {
    found = std::find_if(clients.begin(), clients.end(), refused);
    return found != clients.end();
  }));
  REQUIRE(found != clients.end());
  check_refused(**found, 429);
  clients.erase(found);
  for (const auto& client : clients) {
    client->say("x");
    CHECK(client->receive("x.").starts_with("HTTP/1.1 200 OK\r\n"));
  }
}

TEST_CASE("errors look as the listener's owner wants") {
  http_server::HttpListener::Options options;
  options.error_response = [](int status) {
    return http_server::Response{.status = status, .body = "own words"};
  };
  const auto listener = start_listener(std::move(options));
  BareClient client(listener->port());
  client.say("nonsense");
  CHECK(client.receive() ==
        "HTTP/1.1 400 Bad Request\r\nContent-Length: 9\r\nConnection: close\r\n\r\nown words");
}

TEST_CASE("requests beyond the number of threads wait for their turn") {
  http_server::HttpListener::Options options;
  options.threads = 1;
  const auto listener = start_listener(std::move(options));
  std::vector<std::unique_ptr<BareClient>> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(std::make_unique<BareClient>(listener->port()));
    clients.back()->say(get("/a"));
  }
  for (const auto& client : clients) CHECK(client->receive("GET /a .").ends_with("GET /a ."));
}
