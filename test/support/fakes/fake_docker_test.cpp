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
    engine.images().add("img");
    engine.networks().add({.name = "kind"});
  }
  FakeEngine engine;
};

}  // namespace

TEST_CASE_FIXTURE(World, "a container has an address while it runs") {
  const auto id = *engine.containers().create(box("one"));
  CHECK_FALSE(engine.containers().find(id)->networks.at(0).ipv4);
  REQUIRE(engine.containers().start(id).ok());
  CHECK(engine.containers().find("one")->networks.at(0).ipv4->text() == "172.18.0.2");
  CHECK(engine.networks().inspect("kind")->members.size() == 1);
  engine.containers().die(id);
  CHECK(engine.containers().find(id)->state == docker::ContainerState::Exited);
  CHECK(engine.networks().inspect("kind")->members.empty());
}

TEST_CASE_FIXTURE(World, "names are unique and labels select") {
  engine.containers().add(box("one"));
  CHECK(engine.containers().create(box("one")).error().kind == ErrorKind::Conflict);
  CHECK(engine.containers().list({"a=1"})->size() == 1);
  CHECK(engine.containers().list({"a"})->size() == 1);
  CHECK(engine.containers().list({"a=2"})->empty());
  CHECK(engine.containers().list({"a", "b"})->empty());
}

TEST_CASE_FIXTURE(World, "a scripted fault hits the next call only, and the journal has both") {
  engine.calls().fail_next("create_container", {ErrorKind::Unavailable, "x", "y"});
  CHECK(engine.containers().create(box("one")).error().kind == ErrorKind::Unavailable);
  CHECK(engine.containers().create(box("one")).ok());
  CHECK(engine.calls().journal() ==
        FakeEngine::Strings{"create_container one", "create_container one"});
}

TEST_CASE_FIXTURE(World, "a volume in use cannot be removed") {
  REQUIRE(engine.volumes().create({.name = "v", .labels = {}}).ok());
  auto spec = box("one");
  spec.volumes = {{"v", "/v"}};
  const auto id = engine.containers().add(spec);
  CHECK(engine.volumes().remove("v").error().kind == ErrorKind::Conflict);
  REQUIRE(engine.containers().remove(id).ok());
  CHECK(engine.volumes().remove("v").ok());
}

TEST_CASE_FIXTURE(World,
                  "subscribers see what happens after they opened, until the stream breaks") {
  engine.containers().add(box("before"));
  std::vector<std::string> seen;
  const auto result = engine.system().events(
      [&] {
        engine.containers().add(box("after"));
        engine.containers().vanish("after");
        engine.system().break_events();
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
    CHECK(engine.system()
              .events(
                  {}, [](const docker::Event&) {}, stop)
              .error()
              .kind == ErrorKind::Cancelled);
  });
  listener.request_stop();
  listener.join();
  CHECK(engine.system().subscribers() == 0);
}

TEST_CASE_FIXTURE(World, "exec returns the stream that the hook gives") {
  const auto id = engine.containers().add(box("one"));
  std::shared_ptr<testing::ProcessEnd> process;
  engine.execs().on_start([&](const docker::Container&, const FakeEngine::Strings&) {
    auto pair = testing::make_stream_pair();
    process = pair.process;
    return core::Result<docker::ExecStream>(std::move(pair.stream));
  });
  auto stream = engine.execs().start(id, {"x"}, "0");
  REQUIRE(stream.ok());
  REQUIRE((*stream)->write("hello\n", std::chrono::seconds(1)).ok());
  CHECK(process->read_line() == "hello");
}
