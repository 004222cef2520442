#include "envoy/supervisor.hpp"

#include "agent/wire_support.hpp"

#include <sys/wait.h>

#include <doctest/doctest.h>

#include <csignal>

using namespace kindlb;
using namespace kindlb::agent;

namespace {

/// A shell in Envoy's place. Its life is real, the supervisor's delays are the clock's.
struct Scene {
  testing::ManualClock clock;
  Loop loop{clock};
  int starts = 0;
  std::vector<std::string> ends;
  Supervisor supervisor;

  explicit Scene(const std::string& script) : Scene({"/bin/sh", "-c", script}) {}
  explicit Scene(std::vector<std::string> arguments)
      : supervisor(loop, {.arguments = std::move(arguments)},
                   {.started = [this] { ++starts; },
                    .exited = [this](const std::string& how) { ends.push_back(how); }}) {}

  /// As run_until, and reap what has exited.
  bool reap_until(const std::function<bool()>& condition) {
    return run_until(loop, [&] {
      int status = 0;
      for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;)
        supervisor.reaped(pid, status);
      return condition();
    });
  }
};

}  // namespace

TEST_CASE("a child that exits is restarted, the first time at once") {
  Scene scene("exit 3");
  scene.supervisor.start();
  CHECK(scene.reap_until([&] { return scene.starts == 2; }));
  CHECK(scene.ends[0] == "exited with status 3");
  CHECK(scene.reap_until([&] { return scene.ends.size() == 2; }));
  scene.clock.advance(std::chrono::milliseconds(99));
  settle(scene.loop);
  CHECK(scene.starts == 2);
  scene.clock.advance(std::chrono::milliseconds(1));
  settle(scene.loop);
  CHECK(scene.starts == 3);
  CHECK(scene.supervisor.restarts() == 2);
}

TEST_CASE("what it logs about a rejection is kept") {
  Scene scene("echo \"x: cluster 'c' config rejected: because\" >&2; exec sleep 60");
  scene.supervisor.start();
  protocol::Unit unit;
  unit.clusters = {{"c", "{}"}};
  CHECK(
      scene.reap_until([&] { return scene.supervisor.envoy_log().reason_for(unit) == "because"; }));
  scene.supervisor.stop();
  CHECK(scene.reap_until([&] { return scene.ends.size() == 1; }));
  CHECK(scene.ends[0] == "killed by signal 15");
  CHECK(scene.starts == 1);
}

TEST_CASE("a child that ignores SIGTERM is killed after two seconds") {
  Scene scene("trap '' TERM; echo 'config update rejected: x' >&2; while :; do sleep 0.05; done");
  scene.supervisor.start();
  REQUIRE(scene.reap_until([&] { return scene.supervisor.envoy_log().reason_for({}) == "x"; }));
  scene.supervisor.stop();
  scene.clock.advance(std::chrono::seconds(2));
  CHECK(scene.reap_until([&] { return scene.ends.size() == 1; }));
  CHECK(scene.ends[0] == "killed by signal 9");
}

TEST_CASE("a child that is stopped can be replaced, and the reason is told instead of the signal") {
  Scene scene("exec sleep 60");
  scene.supervisor.start();
  REQUIRE(::kill(scene.supervisor.pid(), SIGSTOP) == 0);
  scene.supervisor.replace("it did not answer");
  CHECK(scene.reap_until([&] { return scene.starts == 2; }));
  CHECK(scene.ends == std::vector<std::string>{"it did not answer"});
  REQUIRE(::kill(scene.supervisor.pid(), SIGKILL) == 0);
  CHECK(scene.reap_until([&] { return scene.ends.size() == 2; }));
  CHECK(scene.ends[1] == "killed by signal 9");
}

TEST_CASE("a missing program counts as one that exited") {
  Scene scene(std::vector<std::string>{"/nonexistent/envoy"});
  scene.supervisor.start();
  CHECK(scene.reap_until([&] { return !scene.ends.empty(); }));
  CHECK(scene.ends[0] == "exited with status 127");
}
