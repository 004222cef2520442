#include "envoy/admin_client.hpp"

#include "agent/wire_support.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstring>

using namespace kindlb;
using namespace kindlb::agent;

namespace {

/// Answers every request on an abstract socket with the scripted text.
struct FakeEnvoy {
  testing::ManualClock clock;
  Loop loop{clock};
  std::string name = "@kindlb-test-" + std::to_string(::getpid());
  base::Fd listener{::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  base::Fd connection;
  std::string script;    ///< empty: hang up
  bool is_mute = false;  ///< take requests and answer nothing
  std::vector<std::string> requests;
  int connections = 0;

  FakeEnvoy() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data() + 1, name.size() - 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    REQUIRE(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(listener.get(), 8) == 0);
    loop.watch(listener.get(), POLLIN, [this](short) {
      ++connections;
      if (connection) loop.unwatch(connection.get());
      connection.reset(::accept(listener.get(), nullptr, nullptr));
      loop.watch(connection.get(), POLLIN, [this](short) { serve(); });
    });
  }

  void serve() {
    std::array<char, 4096> buffer{};
    const auto size = ::recv(connection.get(), buffer.data(), buffer.size(), 0);
    if (size <= 0) return loop.unwatch(connection.get());
    requests.emplace_back(buffer.data(), static_cast<std::size_t>(size));
    if (is_mute) return;
    ::send(connection.get(), script.data(), script.size(), MSG_NOSIGNAL);
    if (script.empty()) {
      loop.unwatch(connection.get());
      connection.reset();
    }
  }
};

core::Result<std::string> get(FakeEnvoy& envoy, AdminClient& client) {
  std::optional<core::Result<std::string>> result;
  client.get("/stats", [&](core::Result<std::string> body) { result = std::move(body); });
  REQUIRE(run_until(envoy.loop, [&] { return result.has_value(); }));
  return *result;
}

constexpr const char* kOk =
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";

}  // namespace

TEST_CASE("requests share a connection") {
  FakeEnvoy envoy;
  AdminClient client(envoy.loop, envoy.name);
  envoy.script = kOk;
  for (int i = 0; i < 3; ++i) CHECK(*get(envoy, client) == "ok");
  CHECK(envoy.connections == 1);
  CHECK(envoy.requests[0].starts_with("GET /stats HTTP/1.1\r\n"));
}

TEST_CASE("failures are errors, and the next request starts afresh") {
  FakeEnvoy envoy;
  AdminClient client(envoy.loop, envoy.name);
  for (const char* script :
       {"HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n", "nonsense\r\n\r\n", ""}) {
    CAPTURE(script);
    envoy.script = script;
    CHECK(get(envoy, client).error().kind == core::ErrorKind::Unavailable);
    envoy.script = kOk;
    CHECK(*get(envoy, client) == "ok");
  }
}

TEST_CASE("a request is given up after two seconds") {
  FakeEnvoy envoy;
  AdminClient client(envoy.loop, envoy.name);
  envoy.is_mute = true;
  std::optional<core::Result<std::string>> result;
  client.get("/stats", [&](core::Result<std::string> body) { result = std::move(body); });
  REQUIRE(run_until(envoy.loop, [&] { return !envoy.requests.empty(); }));
  envoy.clock.advance(std::chrono::milliseconds(1'999));
  settle(envoy.loop);
  CHECK_FALSE(result.has_value());
  envoy.clock.advance(std::chrono::milliseconds(1));
  settle(envoy.loop);
  REQUIRE(result.has_value());
  CHECK(result->error().detail == "no response within 2 s");
}

TEST_CASE("a missing socket is an error, reported from the loop") {
  FakeEnvoy envoy;
  AdminClient client(envoy.loop, "@kindlb-test-nobody");
  bool early = false;
  client.get("/", [&](const core::Result<std::string>&) { early = true; });
  CHECK_FALSE(early);
  client.close();
  CHECK(get(envoy, client).error().kind == core::ErrorKind::Unavailable);
  CHECK_FALSE(early);
}
