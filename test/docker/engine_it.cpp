// The Engine against the real daemon that find_endpoint finds. Everything made here carries one
// label and is removed by it, also when a check fails half-way.
#include "kindlb/docker/engine.hpp"
#include "kindlb/docker/stream_demux.hpp"
#include "kindlb/docker/tar.hpp"
#include "support/paths.hpp"

#include <poll.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <array>
#include <condition_variable>
#include <fstream>
#include <iterator>
#include <mutex>
#include <thread>

using namespace kindlb;
using namespace std::chrono_literals;

namespace {

std::string program_bytes() {
  std::ifstream file(test::program("docker_container_program"), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

template <typename T>
T must(core::Result<T> result) {
  if (!result) FAIL(result.error().text());
  return *std::move(result);
}
void must(const core::Result<void>& result) {
  if (!result) FAIL(result.error().text());
}

/// Everything of this run, removed at its end.
class World {
 public:
  World() : engine(must(docker::connect(must(docker::find_endpoint(""))))) {}
  ~World() {
    if (auto containers = engine->containers().list({selector()}); containers.ok())
      for (const auto& container : *containers) (void)engine->containers().remove(container.id);
    if (auto networks = engine->networks().list({selector()}); networks.ok())
      for (const auto& network : *networks) (void)engine->networks().remove(network.id);
    if (auto volumes = engine->volumes().list({selector()}); volumes.ok())
      for (const auto& volume : *volumes) (void)engine->volumes().remove(volume.name);
    if (auto images = engine->images().list({selector()}); images.ok())
      for (const auto& image : *images) (void)engine->images().remove(image.id);
  }

  void build() {
    const std::string context = docker::write_tar(
        {{"Dockerfile", "FROM scratch\nCOPY program /program\nENTRYPOINT [\"/program\"]\n"},
         {"program", program_bytes(), 0755}});
    must(engine->images().build(name + ":1", context, labels, {}, {}));
  }
  docker::ContainerSpec spec() const {
    return {.name = name,
            .image = name + ":1",
            .command = {"wait"},
            .environment = {"A=b"},
            .labels = labels,
            .network = name,
            .volumes = {{name, "/state"}},
            .sysctls = {{"net.ipv4.ip_unprivileged_port_start", "0"}},
            .capabilities_add = {"NET_ADMIN"},
            .capabilities_drop = {"ALL"},
            .read_only_root = true,
            .no_new_privileges = true,
            .memory_bytes = 64 << 20,
            .pids_limit = 32};
  }
  std::string selector() const { return "kindlb.test=" + name; }

  const std::string name = "kindlb-it-" + std::to_string(getpid());
  const docker::Labels labels = {{"kindlb.test", name}};
  std::unique_ptr<docker::Engine> engine;
};

/// Events as they come, to be waited for.
class EventLog {
 public:
  explicit EventLog(docker::System& system)
      : thread_([this, &system](std::stop_token stop) {
          ended_ = system.events(
              [this] { note("open"); },
              [this](const docker::Event& event) { note(event.action + " " + event.id); }, stop);
        }) {}
  bool wait_for(const std::string& entry) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 20s, [&] {
      return std::find(entries_.begin(), entries_.end(), entry) != entries_.end();
    });
  }
  core::Result<void> stop() {
    thread_.request_stop();
    thread_.join();
    return ended_;
  }

 private:
  void note(std::string entry) {
    const std::scoped_lock lock(mutex_);
    entries_.push_back(std::move(entry));
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> entries_;
  core::Result<void> ended_;
  std::jthread thread_;
};

/// What an exec prints, until `stream` has said `expected` or ten seconds have passed.
std::string read_until(http::Duplex& duplex, docker::StreamDemux& demux, docker::StdStream stream,
                       const std::string& expected) {
  std::string seen;
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  std::array<char, 4096> buffer{};
  while (seen.find(expected) == std::string::npos && std::chrono::steady_clock::now() < deadline) {
    auto count = duplex.read(buffer);
    if (!count) return seen + " [" + count.error().text() + "]";
    if (*count == 0) {
      pollfd readable{duplex.fd(), POLLIN, 0};
      ::poll(&readable, 1, 100);
      continue;
    }
    REQUIRE(demux.feed({buffer.data(), *count}, [&](docker::StdStream from, std::string_view text) {
      if (from == stream) seen += text;
    }));
  }
  return seen;
}

}  // namespace

TEST_CASE("the engine negotiates a version and says who it is") {
  World world;
  const auto info = must(world.engine->system().info());
  CHECK(info.os == "linux");
  CHECK_FALSE(info.version.empty());
  CHECK(info.api_version.starts_with("1."));
}

TEST_CASE("networks and volumes come and go") {
  World world;
  const auto id =
      must(world.engine->networks().create({.name = world.name, .labels = world.labels}));
  const auto network = must(world.engine->networks().inspect(world.name));
  CHECK(network.id == id);
  CHECK(network.driver == "bridge");
  CHECK(network.labels == world.labels);
  REQUIRE(network.subnets.size() == 1);
  REQUIRE(network.subnets[0].gateway);
  CHECK(network.subnets[0].cidr.contains(*network.subnets[0].gateway));
  CHECK(must(world.engine->networks().list({world.selector()})).size() == 1);

  const auto again = world.engine->networks().create({.name = world.name, .labels = world.labels});
  REQUIRE_FALSE(again.ok());
  CHECK(again.error().kind == core::ErrorKind::Conflict);

  must(world.engine->networks().remove(id));
  CHECK(world.engine->networks().inspect(world.name).error().kind == core::ErrorKind::NotFound);

  CHECK(must(world.engine->volumes().create({world.name, world.labels})) == world.name);
  const auto volumes = must(world.engine->volumes().list({world.selector()}));
  REQUIRE(volumes.size() == 1);
  CHECK(volumes[0].labels == world.labels);
  must(world.engine->volumes().remove(world.name));
  CHECK(must(world.engine->volumes().list({world.selector()})).empty());
}

TEST_CASE("a failing build keeps the engine's message") {
  World world;
  std::vector<std::string> lines;
  const auto built = world.engine->images().build(
      world.name + ":broken",
      docker::write_tar({{"Dockerfile", "FROM scratch\nCOPY missing /x\n"}}), world.labels,
      [&](std::string_view line) { lines.emplace_back(line); }, {});
  REQUIRE_FALSE(built.ok());
  CHECK(built.error().kind == core::ErrorKind::Invalid);
  CHECK(built.error().detail.find("missing") != std::string::npos);
  CHECK_FALSE(lines.empty());
}

TEST_CASE("a container lives its whole life") {
  World world;
  docker::Engine& engine = *world.engine;
  world.build();
  const auto image = must(engine.images().inspect(world.name + ":1"));
  CHECK(image.tags == std::vector<std::string>{world.name + ":1"});
  CHECK(must(engine.images().list({world.selector()})).size() == 1);
  must(engine.networks().create({.name = world.name, .labels = world.labels}));
  must(engine.volumes().create({world.name, world.labels}));

  EventLog events(engine.system());
  REQUIRE(events.wait_for("open"));
  const auto id = must(engine.containers().create(world.spec()));
  CHECK(must(engine.containers().inspect(id)).state == docker::ContainerState::Created);
  CHECK(engine.containers().create(world.spec()).error().kind == core::ErrorKind::Conflict);
  must(engine.containers().start(id));
  must(engine.containers().start(id));  // already so: also a success
  CHECK(events.wait_for("start " + id));

  const auto container = must(engine.containers().inspect(world.name));
  CHECK(container.id == id);
  CHECK(container.state == docker::ContainerState::Running);
  CHECK(container.image_id == image.id);
  CHECK(container.labels == world.labels);
  REQUIRE(container.networks.size() == 1);
  CHECK(container.networks[0].network == world.name);
  REQUIRE(container.networks[0].ipv4);

  const auto listed = must(engine.containers().list({world.selector()}));
  REQUIRE(listed.size() == 1);
  CHECK(listed[0].name == world.name);
  REQUIRE(listed[0].networks.size() == 1);
  CHECK(listed[0].networks[0].ipv4 == container.networks[0].ipv4);
  const auto members = must(engine.networks().inspect(world.name)).members;
  REQUIRE(members.size() == 1);
  CHECK(members[0].ipv4->address == *container.networks[0].ipv4);

  SUBCASE("files go in and come out") {
    const std::string large(300'000, 'x');
    must(engine.files().put_archive(
        id, "/state", docker::write_tar({{"a/b.txt", "hello", 0600}, {"large", large}})));
    CHECK(must(engine.files().read_file(id, "/state/a/b.txt")) == "hello");
    CHECK(must(engine.files().read_file(id, "/state/large")) == large);
    CHECK(engine.files().read_file(id, "/state/none").error().kind == core::ErrorKind::NotFound);
    CHECK(engine.files().read_file(id, "/state/a").error().kind == core::ErrorKind::Invalid);
    CHECK_FALSE(engine.files().put_archive(id, "/", docker::write_tar({{"x", "y"}})).ok());
  }
  SUBCASE("an exec talks both ways") {
    auto exec = must(engine.execs().start(id, {"/program", "echo"}, ""));
    docker::StreamDemux demux;
    CHECK(read_until(*exec, demux, docker::StdStream::Err, "ready\n") == "ready\n");
    for (const std::string line : {"one\n", "two\n"}) {
      must(exec->write(line, 5s));
      CHECK(read_until(*exec, demux, docker::StdStream::Out, line) == line);
    }
  }
  SUBCASE("an exec that cannot start fails with the engine's message") {
    CHECK(engine.execs().start("no-such-container", {"/program"}, "").error().kind ==
          core::ErrorKind::NotFound);
    // The connection is already taken over when the engine finds out, so its message arrives there.
    auto missing = must(engine.execs().start(id, {"/no-such-program"}, ""));
    docker::StreamDemux demux;
    CHECK(read_until(*missing, demux, docker::StdStream::Out, "no-such-program") != "");
    must(engine.containers().stop(id, 1s));
    CHECK(engine.execs().start(id, {"/program"}, "").error().kind == core::ErrorKind::Conflict);
  }
  SUBCASE("renamed, killed, stopped, removed, with an event each") {
    must(engine.containers().rename(id, world.name + "-renamed"));
    CHECK(must(engine.containers().inspect(id)).name == world.name + "-renamed");
    CHECK(events.wait_for("rename " + id));
    must(engine.containers().kill(id, "SIGTERM"));
    CHECK(events.wait_for("die " + id));
    must(engine.containers().stop(id, 1s));
    CHECK(must(engine.containers().inspect(id)).state == docker::ContainerState::Exited);
    must(engine.containers().remove(id));
    CHECK(events.wait_for("destroy " + id));
    CHECK(engine.containers().inspect(id).error().kind == core::ErrorKind::NotFound);
  }
  CHECK(events.stop().error().kind == core::ErrorKind::Cancelled);
}
