#include "support/fakes/fake_docker.hpp"

#include "support/fakes/fake_stream.hpp"

#include <doctest/doctest.h>

#include <thread>

namespace {

using namespace kindlb;
using core::ErrorKind;
using testing::FakeEngine;

docker::ContainerSpec box(const std::string& name) {
  return {.name = name, .image = "img", .labels = {{"a", "1"}}, .network = "kind"};
}

struct World {
  World() {
    engine.add_image("img");
    engine.add_network({.name = "kind"});
  }
  FakeEngine engine;
};

}  // namespace

TEST_CASE_FIXTURE(World, "a container has an address while it runs") {
  const auto id = *engine.create_container(box("one"));
  CHECK_FALSE(engine.container(id)->networks.at(0).ipv4);
  REQUIRE(engine.start_container(id).ok());
  CHECK(engine.container("one")->networks.at(0).ipv4->text() == "172.18.0.2");
  CHECK(engine.inspect_network("kind")->members.size() == 1);
  engine.die(id);
  CHECK(engine.container(id)->state == docker::ContainerState::Exited);
  CHECK(engine.inspect_network("kind")->members.empty());
}

TEST_CASE_FIXTURE(World, "names are unique and labels select") {
  engine.add_container(box("one"));
  CHECK(engine.create_container(box("one")).error().kind == ErrorKind::Conflict);
  CHECK(engine.list_containers({"a=1"})->size() == 1);
  CHECK(engine.list_containers({"a"})->size() == 1);
  CHECK(engine.list_containers({"a=2"})->empty());
  CHECK(engine.list_containers({"a", "b"})->empty());
}

TEST_CASE_FIXTURE(World, "a scripted fault hits the next call only, and the journal has both") {
  engine.fail_next("create_container", {ErrorKind::Unavailable, "x", "y"});
  CHECK(engine.create_container(box("one")).error().kind == ErrorKind::Unavailable);
  CHECK(engine.create_container(box("one")).ok());
  CHECK(engine.journal() == FakeEngine::Strings{"create_container one", "create_container one"});
}

TEST_CASE_FIXTURE(World, "a volume in use cannot be removed") {
  REQUIRE(engine.create_volume({.name = "v", .labels = {}}).ok());
  auto spec = box("one");
  spec.volumes = {{"v", "/v"}};
  const auto id = engine.add_container(spec);
  CHECK(engine.remove_volume("v").error().kind == ErrorKind::Conflict);
  REQUIRE(engine.remove_container(id).ok());
  CHECK(engine.remove_volume("v").ok());
}

TEST_CASE_FIXTURE(World,
                  "subscribers see what happens after they opened, until the stream breaks") {
  engine.add_container(box("before"));
  std::vector<std::string> seen;
  const auto result = engine.events(
      [&] {
        engine.add_container(box("after"));
        engine.vanish("after");
        engine.break_events();
      },
      [&](const docker::Event& event) {
        seen.push_back(event.action + " " + event.attributes.at("name"));
      },
      {});
  CHECK(result.error().kind == ErrorKind::Unavailable);
  CHECK(seen ==
        std::vector<std::string>{"create after", "start after", "die after", "destroy after"});
}

TEST_CASE_FIXTURE(World, "a stop request ends a silent subscription") {
  std::jthread listener([&](const std::stop_token& stop) {
    CHECK(engine
              .events(
                  {}, [](const docker::Event&) {}, stop)
              .error()
              .kind == ErrorKind::Cancelled);
  });
  listener.request_stop();
  listener.join();
  CHECK(engine.subscribers() == 0);
}

TEST_CASE_FIXTURE(World, "exec returns the stream that the hook gives") {
  const auto id = engine.add_container(box("one"));
  std::shared_ptr<testing::ProcessEnd> process;
  engine.on_exec([&](const docker::Container&, const FakeEngine::Strings&) {
    auto pair = testing::make_stream_pair();
    process = pair.process;
    return core::Result<docker::ExecStream>(std::move(pair.stream));
  });
  auto stream = engine.exec(id, {"x"}, "0");
  REQUIRE(stream.ok());
  REQUIRE((*stream)->write("hello\n", std::chrono::seconds(1)).ok());
  CHECK(process->read_line() == "hello");
}
