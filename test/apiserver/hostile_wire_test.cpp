// Clients that mean no good or know no better: whatever they do, they get an answer or are hung up
// on, and everybody else is served meanwhile.

#include "apiserver/wire_rig.hpp"

#include <sys/resource.h>

#include <fstream>
#include <random>

using namespace kindlb;
using namespace kindlb::test;

namespace {
/// The Status in an answer, or null.
Json status_in(const std::string& answer) {
  const auto body = answer.find("\r\n\r\n");
  if (body == std::string::npos) return nullptr;
  auto json = Json::parse(answer.substr(body + 4), nullptr, false);
  return json.is_object() ? json : Json();
}

void check_rejected(const std::string& answer, int code) {
  CAPTURE(answer.substr(0, 400));
  CHECK(answer.starts_with("HTTP/1.1 " + std::to_string(code)));
  const auto status = status_in(answer);
  CHECK(status.value("kind", "") == "Status");
  CHECK(status.value("code", 0) == code);
}

void check_serves(const apiserver::Server& server) {
  const auto begin = Clock::now();
  CHECK(send(*client_of(server), "GET", kServices).status == 200);
  CHECK(Clock::now() - begin < 10s);
}

int threads_of_this_process() {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;)
    if (word == "Threads:") {
      int count = 0;
      file >> count;
      return count;
    }
  return 0;
}

std::string post(const std::string& path, const std::string& more_headers,
                 const std::string& body) {
  return "POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" +
         more_headers + "\r\n" + body;
}

std::string with_length(std::size_t length) {
  return "Content-Length: " + std::to_string(length) + "\r\n";
}

/// {"metadata":{"name":"packed"}}, by gzip.
constexpr std::string_view kPacked{
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\x56\xca\x4d\x2d\x49\x4c\x49\x2c\x49\x54"
    "\xb2\xaa\x56\xca\x4b\xcc\x4d\x55\xb2\x52\x2a\x48\x4c\xce\x4e\x4d\x51\xaa\xad\x05\x00"
    "\x0b\x21\x88\x11\x1e\x00\x00\x00",
    50};
}  // namespace

TEST_CASE("thousands of idle connections cost no threads and block no client") {
  rlimit files{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &files) == 0);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  REQUIRE(getrlimit(RLIMIT_NOFILE, &files) == 0);
  // Both ends are in this process.
  const auto count = std::min<std::size_t>(2500, files.rlim_cur / 2 - 200);
  apiserver::ServerOptions options;
  options.max_connections = count / 2;
  const auto server = start(options);
  const auto before = threads_of_this_process();
  std::vector<std::unique_ptr<BareClient>> idle;
  for (std::size_t i = 0; i < count; ++i)
    idle.push_back(std::make_unique<BareClient>(server->port()));
  check_serves(*server);
  CHECK(threads_of_this_process() < before + 20);
  // Those who waited longest had to make room.
  idle.front()->receive();
  CHECK(idle.front()->over());
  CHECK(idle.back()->say("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"));
  CHECK(idle.back()->receive("\r\n\r\nok").starts_with("HTTP/1.1 200"));
}

TEST_CASE("a request that takes too long gets 408") {
  apiserver::ServerOptions options;
  options.header_timeout = 300ms;
  options.max_requests = 4;
  const auto server = start(options);
  std::vector<std::unique_ptr<BareClient>> slow;
  const auto each = [&](const std::string& begin) {
    for (int i = 0; i < 30; ++i) {
      slow.push_back(std::make_unique<BareClient>(server->port()));
      CHECK(slow.back()->say(begin));
    }
  };
  SUBCASE("an incomplete header") {
    each("GET /api/v1/services HTTP/1.1\r\nHos");
  }
  SUBCASE("a missing body") {
    each(post("/api/v1/namespaces", with_length(100), "{"));
  }
  check_serves(*server);
  for (const auto& client : slow) {
    check_rejected(client->receive(), 408);
    CHECK(client->over());
  }
}

TEST_CASE("a slow sender does not extend its deadline") {
  apiserver::ServerOptions options;
  options.header_timeout = 300ms;
  const auto server = start(options);
  BareClient client(server->port());
  const auto deadline = Clock::now() + 20s;
  client.say("GET / HTTP/1.1\r\n");
  while (client.receive("}", 20ms).empty() && Clock::now() < deadline) client.say("a");
  check_rejected(client.receive(), 408);
}

TEST_CASE("a chunked body that stalls gets 408") {
  apiserver::ServerOptions options;
  options.header_timeout = 200ms;
  const auto server = start(options);
  BareClient client(server->port());
  client.say(post("/api/v1/namespaces", "Transfer-Encoding: chunked\r\n", "5\r\n{\"a\""));
  check_rejected(client.receive(), 408);
}

TEST_CASE("input that is not HTTP is rejected at once") {
  const auto server = start();
  for (const std::string nonsense :
       {"\x15\x03\x01\x02", "{}\r\n", "get / HTTP/1.1\r\n", "\r\n\r\n"}) {
    BareClient client(server->port());
    client.say(nonsense);
    check_rejected(client.receive(), 400);
  }
  BareClient client(server->port());
  client.say("HELLO THERE\r\n\r\n");
  check_rejected(client.receive("}\n"), 400);
}

TEST_CASE("input that is too large gets a Status") {
  const auto server = start();
  SUBCASE("a header") {
    BareClient client(server->port());
    client.say("GET / HTTP/1.1\r\n");
    for (int i = 0; i < 200 && client.say("X-Header: " + std::string(1000, 'x') + "\r\n"); ++i) {
    }
    check_rejected(client.receive(), 431);
  }
  SUBCASE("an address") {
    BareClient client(server->port());
    client.say("GET /" + std::string(20'000, 'x') + " HTTP/1.1\r\nHost: x\r\n\r\n");
    check_rejected(client.receive("}\n"), 414);
  }
  SUBCASE("a body, by its Content-Length") {
    BareClient client(server->port());
    client.say(post("/api/v1/namespaces", with_length(std::size_t{1} << 40U), "{"));
    check_rejected(client.receive(), 413);
  }
  SUBCASE("a body that is sent nevertheless") {
    const auto answer =
        send(*client_of(*server), "POST", kServices, std::string(std::size_t{4} << 20U, ' '));
    CHECK(answer.status == 413);
    CHECK(Json::parse(answer.body)["kind"] == "Status");
  }
  SUBCASE("a chunked body") {
    BareClient client(server->port());
    client.say(post("/api/v1/namespaces", "Transfer-Encoding: chunked\r\n", ""));
    const auto chunk = "10000\r\n" + std::string(0x10000, ' ') + "\r\n";
    for (int i = 0; i < 400 && client.say(chunk); ++i) {
    }
    check_rejected(client.receive(), 413);
  }
  check_serves(*server);
}

TEST_CASE("requests cannot amplify themselves in the server") {
  const auto server = start();
  BareClient client(server->port());
  SUBCASE("a compressed body") {
    // It would be a namespace if it were unpacked, and a few bytes of it could be gigabytes.
    client.say(post("/api/v1/namespaces",
                    "Content-Encoding: gzip\r\n" + with_length(kPacked.size()),
                    std::string(kPacked)));
    check_rejected(client.receive("}\n"), 400);
  }
  SUBCASE("a thousand ranges of one response") {
    std::string ranges = "0-0";
    for (int i = 0; i < 1000; ++i) ranges += ",0-99";
    client.say("GET /api/v1/services HTTP/1.1\r\nHost: x\r\nRange: bytes=" + ranges + "\r\n\r\n");
    const auto answer = client.receive("]}\n");
    CHECK(answer.starts_with("HTTP/1.1 200"));
    CHECK(status_in(answer).value("kind", "") == "ServiceList");
  }
  SUBCASE("the longest allowed path") {
    client.say(post("/" + std::string(8000, 'a'), with_length(2), "{}"));
    check_rejected(client.receive("}\n"), 404);
  }
  SUBCASE("depth") {
    const std::string deep(1'000'000, '[');
    client.say(post(kServices, with_length(deep.size()), deep));
    check_rejected(client.receive("}\n"), 400);
  }
  check_serves(*server);
}

TEST_CASE("pipelined requests are answered in order") {
  const auto server = start();
  BareClient client(server->port());
  const std::string one = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
  client.say(one + "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n" + one);
  const auto answers = client.receive("\r\n\r\nok", 20s);
  CHECK(answers.starts_with("HTTP/1.1 200"));
  const auto all = client.receive("NotFound", 20s);
  CHECK(all.find("HTTP/1.1 404") > all.find("HTTP/1.1 200"));
}

TEST_CASE("a watch that is not read is closed, and holds little memory meanwhile") {
  apiserver::ServerOptions options;
  options.history = 16;
  const auto server = start(options);
  const auto client = client_of(*server);
  make(*client, "large");
  BareClient watcher(server->port(), 4096);
  watcher.say("GET /api/v1/services?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n");
  watcher.receive("large");
  for (int i = 0; i < 150; ++i)
    send(
        *client, "PATCH", std::string(kServices) + "/large",
        Json{{"metadata", {{"annotations", {{"x", std::string(100'000, i % 2 == 0 ? 'a' : 'b')}}}}}}
            .dump(),
        "application/merge-patch+json");
  const auto told = watcher.receive("\"type\":\"ERROR\"", 30s);
  CHECK((watcher.over() || told.find("too old resource version") != std::string::npos));
  check_serves(*server);
}

TEST_CASE("mutated requests are rejected at worst") {
  apiserver::ServerOptions options;
  options.header_timeout = 20ms;
  const auto server = start(options);
  const std::string body = R"({"metadata":{"name":"a"},"spec":{"ports":[{"port":80}]}})";
  const auto good = post(kServices, with_length(body.size()), body);
  std::mt19937 random(11);
  for (int round = 0; round < 100; ++round) {
    auto bytes = good;
    for (int edits = 0; edits < 4; ++edits) {
      const auto at = random() % bytes.size();
      if (random() % 2 == 0)
        bytes[at] = static_cast<char>(random() % 256);
      else
        bytes.erase(at, 1 + random() % 9);
    }
    CAPTURE(round);
    BareClient client(server->port());
    client.say(bytes);
    const auto answer = client.receive("}\n");
    CHECK(answer.starts_with("HTTP/1.1 "));
    CHECK_FALSE(answer.starts_with("HTTP/1.1 5"));
  }
  check_serves(*server);
}
