#include "envoy/supervisor.hpp"

#include "agent/wire_support.hpp"

#include <sys/wait.h>

#include <doctest/doctest.h>

#include <csignal>

using namespace kindlb;
using namespace kindlb::agent;

namespace {

/// A shell in Envoy's place; the loop reaps it every few milliseconds.
struct Scene {
  Loop loop;
  int starts = 0;
  std::vector<std::string> ends;
  Supervisor supervisor;

  explicit Scene(const std::string& script) : Scene({"/bin/sh", "-c", script}) {}
  explicit Scene(std::vector<std::string> arguments)
      : supervisor(loop, {.arguments = std::move(arguments)},
                   {.started = [this] { ++starts; },
                    .exited = [this](const std::string& how) { ends.push_back(how); }}) {
    reap();
  }
  void reap() {
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;)
      supervisor.reaped(pid, status);
    loop.after(std::chrono::milliseconds(2), [this] { reap(); });
  }
};

}  // namespace

TEST_CASE("a child that exits is restarted, the first time at once") {
  Scene scene("exit 3");
  scene.supervisor.start();
  CHECK(run_until(scene.loop, [&] { return scene.starts == 2; }));
  CHECK(scene.ends[0] == "exited with status 3");
  CHECK(run_until(scene.loop, [&] { return scene.starts == 3; }));
  CHECK(scene.supervisor.restarts() == 2);
}

TEST_CASE("what it logs about a rejection is kept") {
  Scene scene("echo \"x: cluster 'c' config rejected: because\" >&2; exec sleep 60");
  scene.supervisor.start();
  protocol::Unit unit;
  unit.clusters = {{"c", "{}"}};
  CHECK(run_until(scene.loop,
                  [&] { return scene.supervisor.envoy_log().reason_for(unit) == "because"; }));
  scene.supervisor.stop();
  CHECK(run_until(scene.loop, [&] { return scene.ends.size() == 1; }));
  CHECK(scene.ends[0] == "killed by signal 15");
  CHECK(scene.starts == 1);
}

TEST_CASE("a child that ignores SIGTERM is killed") {
  Scene scene("trap '' TERM; echo 'config update rejected: x' >&2; while :; do sleep 0.05; done");
  scene.supervisor.start();
  REQUIRE(
      run_until(scene.loop, [&] { return scene.supervisor.envoy_log().reason_for({}) == "x"; }));
  scene.supervisor.stop();
  CHECK(run_until(scene.loop, [&] { return scene.ends.size() == 1; }));
  CHECK(scene.ends[0] == "killed by signal 9");
}

TEST_CASE("a missing program counts as one that exited") {
  Scene scene(std::vector<std::string>{"/nonexistent/envoy"});
  scene.supervisor.start();
  CHECK(run_until(scene.loop, [&] { return !scene.ends.empty(); }));
  CHECK(scene.ends[0] == "exited with status 127");
}
