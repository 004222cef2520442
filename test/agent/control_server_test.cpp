#include "control_server.hpp"

#include "agent/wire_support.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>

using namespace kindlb;
using namespace kindlb::agent;

namespace {

struct Server {
  std::string directory = (std::filesystem::temp_directory_path() / "kindlb-ctl-XXXXXX").string();
  std::string path;
  testing::ManualClock clock;
  Loop loop{clock};
  std::vector<ClientId> clients;
  std::vector<std::string> lines;
  int overflows = 0;
  ControlServer control{
      loop,
      {.connected =
           [this](ClientId id) {
             clients.push_back(id);
             control.send(id, protocol::Bye{.reason = "hello"});
           },
       .line = [this](ClientId, std::string_view line) { lines.emplace_back(line); },
       .overflowed =
           [this](ClientId id) {
             ++overflows;
             control.send(id, protocol::Rejected{.text = "too long"});
           }}};

  Server() {
    REQUIRE(::mkdtemp(directory.data()) != nullptr);
    path = directory + "/agent.sock";
    REQUIRE(control.listen(path).ok());
  }
  ~Server() { std::filesystem::remove_all(directory); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  base::Fd connect() const {
    base::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) ==
            0);
    ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
    return socket;
  }
};

/// Whatever has arrived; "<end>" at the end.
std::string take(const base::Fd& socket) {
  std::array<char, 65536> buffer{};
  const auto size = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
  if (size == 0) return "<end>";
  return size < 0 ? std::string() : std::string(buffer.data(), static_cast<std::size_t>(size));
}

}  // namespace

TEST_CASE("the socket is for its owner only, and a left-over one is replaced") {
  Server server;
  struct stat info {};
  REQUIRE(::stat(server.path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777U) == 0600);
  CHECK(server.control.listen(server.path).ok());
}

TEST_CASE("every connection is reported, and send_to_all reaches all") {
  Server server;
  const base::Fd one = server.connect();
  const base::Fd two = server.connect();
  REQUIRE(run_until(server.loop, [&] { return server.clients.size() == 2; }));
  CHECK(take(one) == protocol::encode(protocol::Bye{.reason = "hello"}));
  server.control.send_to_all(protocol::Bye{.reason = "all"});
  CHECK(take(one) == protocol::encode(protocol::Bye{.reason = "all"}));
  CHECK(take(two).ends_with(protocol::encode(protocol::Bye{.reason = "all"})));
}

TEST_CASE("lines are framed, however they arrive") {
  Server server;
  const base::Fd client = server.connect();
  REQUIRE(::send(client.get(), "on", 2, 0) == 2);
  REQUIRE(run_until(server.loop, [&] { return server.clients.size() == 1; }));
  REQUIRE(::send(client.get(), "e\ntwo\n\nthr", 10, 0) == 10);
  CHECK(run_until(server.loop, [&] { return server.lines.size() == 2; }));
  CHECK(server.lines == std::vector<std::string>{"one", "two"});
}

TEST_CASE("after a line beyond the limit, the answer is sent and the client dropped") {
  Server server;
  const base::Fd client = server.connect();
  const std::string piece(1 << 20, 'x');
  for (int i = 0; i < 17 && server.overflows == 0; ++i) {
    std::string_view rest = piece;
    while (!rest.empty() && server.overflows == 0) {
      const auto sent = ::send(client.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent > 0) rest.remove_prefix(static_cast<std::size_t>(sent));
      bool once = false;
      run_until(server.loop, [&] { return std::exchange(once, true); });
    }
  }
  CHECK(server.overflows == 1);
  std::string answer;
  CHECK(run_until(server.loop, [&] {
    answer += take(client);
    return answer.ends_with("<end>") || answer.find("too long") != std::string::npos;
  }));
  CHECK(answer.find("too long") != std::string::npos);
}

TEST_CASE("every client gets a heartbeat every two seconds") {
  Server server;
  const base::Fd one = server.connect();
  REQUIRE(run_until(server.loop, [&] { return server.clients.size() == 1; }));
  server.clock.advance(std::chrono::milliseconds(1'000));
  const base::Fd two = server.connect();
  REQUIRE(run_until(server.loop, [&] { return server.clients.size() == 2; }));
  take(one);
  take(two);
  server.clock.advance(std::chrono::milliseconds(999));
  settle(server.loop);
  CHECK(take(one).empty());
  server.clock.advance(std::chrono::milliseconds(1));
  settle(server.loop);
  CHECK(take(one) == protocol::encode(protocol::Heartbeat{}));
  CHECK(take(two) == protocol::encode(protocol::Heartbeat{}));
  server.clock.advance(protocol::kHeartbeatInterval);
  settle(server.loop);
  CHECK(take(one) == protocol::encode(protocol::Heartbeat{}));
}

TEST_CASE("nothing is due while nobody is connected") {
  Server server;
  base::Fd client = server.connect();
  REQUIRE(run_until(server.loop, [&] { return server.clients.size() == 1; }));
  client.reset();
  settle(server.loop);
  server.clock.advance(protocol::kHeartbeatInterval * 2);
  CHECK_FALSE(server.loop.run_due());
  const base::Fd next = server.connect();
  REQUIRE(run_until(server.loop, [&] { return server.clients.size() == 2; }));
  take(next);
  server.clock.advance(protocol::kHeartbeatInterval);
  settle(server.loop);
  CHECK(take(next) == protocol::encode(protocol::Heartbeat{}));
}

TEST_CASE("heartbeats for a client that does not read do not add up") {
  Server server;
  const base::Fd client = server.connect();
  REQUIRE(run_until(server.loop, [&] { return server.clients.size() == 1; }));
  const std::string large(std::size_t{4} << 20U, 'x');
  server.control.send(server.clients[0], protocol::Bye{.reason = large});
  for (int i = 0; i < 3; ++i) {
    server.clock.advance(protocol::kHeartbeatInterval);
    settle(server.loop);
  }
  std::string all;
  REQUIRE(run_until(server.loop, [&] {
    all += take(client);
    return all.ends_with("\n") && all.size() > large.size();
  }));
  CHECK(all.find("heartbeat") == std::string::npos);
}

TEST_CASE("a client that disconnects is dropped") {
  Server server;
  base::Fd client = server.connect();
  REQUIRE(run_until(server.loop, [&] { return server.clients.size() == 1; }));
  client.reset();
  server.control.send_to_all(protocol::Bye{});
  server.control.send(server.clients[0], protocol::Bye{});
  const base::Fd next = server.connect();
  CHECK(run_until(server.loop, [&] { return server.clients.size() == 2; }));
}
