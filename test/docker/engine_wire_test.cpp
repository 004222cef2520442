// The Engine against a scripted one: negotiation, errors, streams, and what the requests look like.
#include "kindlb/docker/engine.hpp"
#include "kindlb/docker/stream_demux.hpp"
#include "kindlb/docker/tar.hpp"
#include "support/servers/http_server.hpp"

#include <poll.h>

#include <doctest/doctest.h>

#include <mutex>
#include <thread>

using namespace kindlb;
using namespace std::chrono_literals;
using core::ErrorKind;
using test::Exchange;
using test::HttpServer;

namespace {

std::string version_answer(const std::string& newest, const std::string& oldest) {
  return R"({"Version":"99.1","Os":"linux","ApiVersion":")" + newest + R"(","MinAPIVersion":")" +
         oldest + "\"}";
}

/// A scripted engine of API 1.41 and the last request, as "METHOD target body".
class ScriptedEngine {
 public:
  explicit ScriptedEngine(test::Script script)
      : server_(
            [this, script = std::move(script)](Exchange& exchange) {
              const auto& request = exchange.request();
              if (request.target == "/version")
                return exchange.answer(200, version_answer("1.41", "1.12"));
              note(request.method + " " + request.target + " " + request.body);
              script(exchange);
            },
            {.unix_socket = true}) {
    auto connected = docker::connect({.url = server_.url()});
    REQUIRE(connected.ok());
    engine_ = *std::move(connected);
  }
  docker::Engine* operator->() { return engine_.get(); }
  std::string last() {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }

 private:
  void note(std::string asked) {
    const std::scoped_lock lock(mutex_);
    asked_ = std::move(asked);
  }
  std::mutex mutex_;
  std::string asked_;
  HttpServer server_;
  std::unique_ptr<docker::Engine> engine_;
};

test::Script answering(int status, std::string body) {
  return [status, body = std::move(body)](Exchange& exchange) { exchange.answer(status, body); };
}

/// Reads frames until the stream ends or `size` bytes of stdout are in.
std::string stdout_of(http::Duplex& duplex, std::size_t size) {
  docker::StreamDemux demux;
  std::string out;
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (out.size() < size && std::chrono::steady_clock::now() < deadline) {
    char buffer[512];
    auto count = duplex.read(buffer);
    if (!count) break;
    demux.feed({buffer, *count}, [&](docker::StdStream stream, std::string_view text) {
      if (stream == docker::StdStream::Out) out += text;
    });
    pollfd readable{duplex.fd(), POLLIN, 0};
    if (*count == 0) ::poll(&readable, 1, 100);
  }
  return out;
}

}  // namespace

TEST_CASE("the version is negotiated, never assumed") {
  struct Case {
    const char* name;
    const char* newest;
    const char* oldest;
    const char* prefix;
  };
  for (const auto& [name, newest, oldest, prefix] :
       {Case{"engine with a maximum of 1.41", "1.41", "1.12", "/v1.41/"},
        Case{"engine with a minimum of 1.44", "1.51", "1.44", "/v1.47/"},
        Case{"engine of today", "1.44", "1.24", "/v1.44/"}}) {
    SUBCASE(name) {
      HttpServer server([newest = newest, oldest = oldest, prefix = prefix](Exchange& exchange) {
        const std::string& target = exchange.request().target;
        if (target == "/version" || target == prefix + std::string("version"))
          return exchange.answer(200, version_answer(newest, oldest));
        // As an engine answers to a version it does not speak.
        exchange.answer(400, R"({"message":"client version is too new or too old"})");
      });
      auto engine = docker::connect({.url = server.url()});
      REQUIRE(engine.ok());
      const auto info = (*engine)->system().info();
      REQUIRE(info.ok());
      CHECK(info->version == "99.1");
      CHECK("/v" + info->api_version + "/" == prefix);
    }
  }
}

TEST_CASE("an engine that cannot be used is one clear line") {
  struct Case {
    const char* name;
    int status;
    std::string body;
    ErrorKind kind;
    const char* says;
  };
  for (const auto& [name, status, body, kind, says] :
       {Case{"too old", 200, version_answer("1.39", "1.12"), ErrorKind::Invalid, "1.40 or newer"},
        Case{"too new", 200, version_answer("1.90", "1.80"), ErrorKind::Invalid, "upgrade kindlb"},
        Case{"something else", 200, "<html>", ErrorKind::Protocol, "not a Docker engine"},
        Case{"a proxy's refusal", 502, "{}", ErrorKind::Protocol, "HTTP status 502"}}) {
    SUBCASE(name) {
      HttpServer server(answering(status, body));
      const auto engine = docker::connect({.url = server.url()});
      REQUIRE_FALSE(engine.ok());
      CHECK(engine.error().kind == kind);
      CHECK(engine.error().text().find(says) != std::string::npos);
      CHECK(engine.error().text().find('\n') == std::string::npos);
    }
  }
  const auto missing = docker::connect({.url = "unix:///nonexistent/docker.sock"});
  CHECK(missing.error().kind == ErrorKind::Unavailable);
  CHECK(missing.error().detail ==
        "unix:///nonexistent/docker.sock: No such file or directory; is Docker running? Start it, "
        "or set DOCKER_HOST to its address");
}

TEST_CASE("errors keep the engine's message and get a kind") {
  struct Case {
    int status;
    const char* body;
    ErrorKind kind;
    const char* detail;
  };
  for (const auto& [status, body, kind, detail] :
       {Case{404, R"({"message":"No such container: x"})", ErrorKind::NotFound,
             "No such container: x"},
        Case{409, R"({"message":"name in use"})", ErrorKind::Conflict, "name in use"},
        Case{500, "plain words\n", ErrorKind::Unavailable, "plain words"},
        Case{400, "", ErrorKind::Invalid, "HTTP status 400"},
        Case{200, "not json", ErrorKind::Protocol, "the engine's answer does not match its API"}}) {
    CAPTURE(status);
    ScriptedEngine engine(answering(status, body));
    const auto result = engine->containers().inspect("x");
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().kind == kind);
    CHECK(result.error().detail == detail);
    CHECK(result.error().operation == "inspect container x");
  }
}

TEST_CASE("requests as the API describes them") {
  ScriptedEngine engine(answering(304, ""));
  CHECK(engine->containers().start("a/b").ok());
  CHECK(engine.last() == "POST /v1.41/containers/a%2Fb/start ");
  CHECK(engine->containers().stop("c", 7s).ok());
  CHECK(engine.last() == "POST /v1.41/containers/c/stop?t=7 ");
  CHECK(engine->containers().kill("c", "SIGHUP").ok());
  CHECK(engine.last() == "POST /v1.41/containers/c/kill?signal=SIGHUP ");
  CHECK(engine->containers().rename("c", "new name").ok());
  CHECK(engine.last() == "POST /v1.41/containers/c/rename?name=new%20name ");
  CHECK(engine->containers().remove("c").ok());
  CHECK(engine.last() == "DELETE /v1.41/containers/c?force=1&v=1 ");
  CHECK(engine->files().put_archive("c", "/a b", "tar").ok());
  CHECK(engine.last() == "PUT /v1.41/containers/c/archive?path=%2Fa%20b tar");
  CHECK(engine->networks().remove("n").ok());
  CHECK(engine.last() == "DELETE /v1.41/networks/n ");
  CHECK(engine->volumes().remove("v").ok());
  CHECK(engine.last() == "DELETE /v1.41/volumes/v ");
  CHECK(engine->images().remove("host:5000/i:1").ok());
  CHECK(engine.last() == "DELETE /v1.41/images/host:5000/i:1 ");
  CHECK_FALSE(engine->containers().list({"a=b", "c"}).ok());
  CHECK(
      engine.last() ==
      "GET /v1.41/containers/json?all=1&filters=%7B%22label%22%3A%5B%22a%3Db%22%2C%22c%22%5D%7D ");
}

TEST_CASE("a file out of a container") {
  const auto read = [](const std::string& archive) {
    ScriptedEngine engine(answering(200, archive));
    return engine->files().read_file("c", "/etc/kubernetes/admin.conf");
  };
  CHECK(read(docker::write_tar({{"admin.conf", "content"}})).value() == "content");
  CHECK(read(docker::write_tar({{"other.conf", "content"}})).error().kind == ErrorKind::Invalid);
  CHECK(read(docker::write_tar({{"admin.conf/inside", "x"}})).error().kind == ErrorKind::Invalid);
  CHECK(read(docker::write_tar({})).error().kind == ErrorKind::Invalid);
  CHECK(read("not a tar").error().kind == ErrorKind::Protocol);
  CHECK(read(docker::write_tar({{"admin.conf", std::string((16 << 20) + 1, 'x')}})).error().kind ==
        ErrorKind::TooLarge);
  CHECK(read(std::string(17 << 20, '\0')).error().kind == ErrorKind::TooLarge);
}

TEST_CASE("an exec's frames, also those that come with the answer") {
  ScriptedEngine engine([](Exchange& exchange) {
    if (exchange.request().target == "/v1.41/containers/c/exec")
      return exchange.answer(201, R"({"Id":"e1"})");
    exchange.send("HTTP/1.1 101 UPGRADED\r\nUpgrade: tcp\r\n\r\n");
    exchange.send(std::string("\1\0\0\0\0\0\0\5early\2\0\0\0\0\0\0\3err", 24));
    const std::string input = exchange.receive();
    exchange.send(std::string("\1\0\0\0\0\0\0", 7) + static_cast<char>(input.size()) + input);
    exchange.stall();
  });
  auto stream = engine->execs().start("c", {"/agent", "connect"}, "101");
  REQUIRE(stream.ok());
  CHECK(engine.last() == R"(POST /v1.41/exec/e1/start {"Detach":false,"Tty":false})");
  CHECK(stdout_of(**stream, 5) == "early");
  REQUIRE((*stream)->write("ping", 5s).ok());
  CHECK(stdout_of(**stream, 4) == "ping");
}

TEST_CASE("an exec that is refused keeps the engine's message") {
  ScriptedEngine engine([](Exchange& exchange) {
    if (exchange.request().target == "/v1.41/containers/c/exec")
      return exchange.answer(201, R"({"Id":"e1"})");
    exchange.answer(409, R"({"message":"Container c is not running"})");
  });
  const auto stream = engine->execs().start("c", {"/agent"}, "");
  REQUIRE_FALSE(stream.ok());
  CHECK(stream.error().kind == ErrorKind::Conflict);
  CHECK(stream.error().detail == "Container c is not running");
  CHECK(stream.error().operation == "run /agent in container c");
}

TEST_CASE("builds and pulls report progress, and fail by a line") {
  ScriptedEngine engine([](Exchange& exchange) {
    exchange.start_chunks();
    exchange.chunk("{\"stream\":\"Step 1\\n\"}\r\n{\"stre");
    exchange.chunk("am\":\"Step 2\\n\"}\r\n");
    if (exchange.request().target.find("bad") != std::string::npos)
      exchange.chunk("{\"errorDetail\":{\"message\":\"it broke\"},\"error\":\"it broke\"}");
    exchange.end_chunks();
  });
  std::string lines;
  const auto progress = [&](std::string_view line) { lines += std::string(line) + "|"; };
  CHECK(engine->images().build("good:1", "tar", {{"a", "b"}}, progress, {}).ok());
  CHECK(lines == "Step 1|Step 2|");
  CHECK(engine.last() ==
        "POST /v1.41/build?t=good%3A1&labels=%7B%22a%22%3A%22b%22%7D&forcerm=1 tar");
  const auto failed = engine->images().build("bad:1", "tar", {}, {}, {});
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().kind == ErrorKind::Invalid);
  CHECK(failed.error().detail == "it broke");

  CHECK(engine->images().pull("host:5000/envoy@sha256:1", progress, {}).ok());
  CHECK(engine.last() == "POST /v1.41/images/create?fromImage=host%3A5000%2Fenvoy&tag=sha256%3A1 ");
  CHECK(engine->images().pull("bad", {}, {}).error().detail == "it broke");
}

TEST_CASE("events arrive one by one from the opening on, until a stop") {
  ScriptedEngine engine([](Exchange& exchange) {
    if (exchange.request().target == "/v1.41/_ping")
      return exchange.answer(200, "OK", {{"Date", "Sun, 06 Nov 1994 08:49:37 GMT"}});
    exchange.start_chunks();
    exchange.chunk(
        "{\"Type\":\"container\",\"Action\":\"start\",\"Actor\":{\"ID\":\"1\"}}\nnot an event\n");
    exchange.chunk("{\"Type\":\"network\",\"Action\":\"connect\",\"Actor\":{\"ID\":\"2\"}}\n");
    exchange.stall();
  });
  std::stop_source stop;
  std::string journal;
  const auto ended = engine->system().events([&] { journal += "open "; },
                                             [&](const docker::Event& event) {
                                               journal += event.action + event.id + " ";
                                               if (event.type == "network") stop.request_stop();
                                             },
                                             stop.get_token());
  CHECK(ended.error().kind == ErrorKind::Cancelled);
  CHECK(journal == "open start1 connect2 ");
  CHECK(engine.last() ==
        "GET /v1.41/events?filters=%7B%22type%22%3A%5B%22container%22%2C%22network%22%5D%7D"
        "&since=784111777 ");
}

TEST_CASE("an event stream that ends or is refused is an error") {
  bool opened = false;
  const auto open = [&] { opened = true; };
  const auto ignore = [](const docker::Event&) {};
  ScriptedEngine ending([](Exchange& exchange) {
    exchange.start_chunks();
    exchange.end_chunks();
  });
  CHECK(ending->system().events(open, ignore, {}).error().kind == ErrorKind::Unavailable);
  CHECK(opened);
  opened = false;
  ScriptedEngine refusing(answering(500, R"({"message":"no events today"})"));
  CHECK(refusing->system().events(open, ignore, {}).error().detail == "no events today");
  CHECK_FALSE(opened);
  ScriptedEngine shouting([](Exchange& exchange) {
    exchange.start_chunks();
    const std::string piece = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
    while (exchange.send(piece)) continue;
    exchange.hang_up();
  });
  CHECK(shouting->system().events({}, ignore, {}).error().kind == ErrorKind::TooLarge);
}
