// The demo as a user runs it, and the ways a sandbox begins and ends.

#include "sandbox/examples.hpp"
#include "sandbox/sandbox_program.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

using namespace kindlb;
using it::SandboxProgram;

namespace {
bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// One line that says what is wrong, exit code 2, and no traces.
void check_complaint(SandboxProgram& program, docker::Networks& networks,
                     const std::string& mentions) {
  CHECK(program.await_end() == 2);
  const auto log = program.log();
  CAPTURE(log);
  CHECK(log.starts_with("kindlb: "));
  CHECK(std::ranges::count(log, '\n') == 1);
  CHECK_MESSAGE(holds(log, mentions), mentions);
  CHECK_FALSE(std::filesystem::exists(program.config() + ".tmp"));
  const auto network = networks.inspect(program.name());
  CHECK_FALSE(network.ok());
}

core::Service serve_web(const SandboxProgram& program, it::Diary& diary) {
  const it::Cluster cluster{test::Rest(program.client()), "default", diary};
  cluster.rest.patch(cluster.path("web") + "?fieldManager=test", "apply",
                     it::example_text("web", ""));
  const auto served = diary.wait("web", it::is_serving, SandboxProgram::kLimit);
  REQUIRE_MESSAGE(served.has_value(), program.log());
  return *served;
}
}  // namespace

TEST_CASE("the demo shows every example, asks all that serve, and leaves by itself") {
  testing::DockerRig rig;
  SandboxProgram demo;
  demo.start("demo");
  CHECK_MESSAGE(demo.await_end() == 0, demo.log());
  const auto shown = demo.log();
  CAPTURE(shown);
  std::size_t serving = 0;
  for (const auto& promise : it::promises()) {
    CHECK_MESSAGE(holds(shown, promise.name + " "), promise.name);
    serving += promise.conditions.starts_with("Serving=True") ? 1U : 0U;
  }
  CHECK(holds(shown, "curl http://"));
  CHECK(holds(shown, "nc -u"));
  CHECK(holds(shown, "PROXY TCP4 "));
  CHECK(holds(shown, std::to_string(it::promises().size()) +
                         " Services: " + std::to_string(serving) + " serve"));
  CHECK(holds(shown, "Try next"));
  CHECK_FALSE(holds(shown, "\033"));  // no terminal, no colours
  demo.check_gone(rig.engine());
}

TEST_CASE("the story of the conditions is told from the beginning to the end") {
  testing::DockerRig rig;
  SandboxProgram demo;
  demo.start("demo", {"--script", "conditions", "--pause", "0"});
  CHECK_MESSAGE(demo.await_end() == 0, demo.log());
  std::istringstream lines(demo.log());
  std::vector<std::string> titles;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line[0] >= '1' && line[0] <= '9') titles.push_back(line);
  CHECK(titles == std::vector<std::string>{"1. Create", "2. Provisioning delay", "3. Serving",
                                           "4. Update while serving", "5. Degraded", "6. Refused",
                                           "7. Infrastructure failure", "8. Recovery"});
  for (const char* part :
       {"Serving=False/Provisioning Provisioning=True", "Serving=True Provisioning=True",
        "Degraded=True/SessionAffinityNotSupported", "Serving=False/Unsupported", "address removed",
        "Serving=False/Infrastructure", "quota exceeded", "->  echo-"})
    CHECK_MESSAGE(holds(demo.log(), part), part << "\n" << demo.log());
  demo.check_gone(rig.engine());
}

TEST_CASE("a sandbox can be stopped and continued") {
  testing::DockerRig rig;
  SandboxProgram sandbox;
  const auto state = (sandbox.folder / "state").string();
  std::string address;
  {
    sandbox.start("sandbox", {"--state", state});
    sandbox.await_up();
    it::Diary diary(sandbox.client(), "default");
    address = serve_web(sandbox, diary).status.ingress[0].ip;
  }
  sandbox.child->signal(SIGINT);
  CHECK_MESSAGE(sandbox.await_end() == 0, sandbox.log());
  sandbox.check_gone(rig.engine());

  sandbox.start("sandbox", {"--state", state});
  sandbox.await_up();
  const auto deadline = std::chrono::steady_clock::now() + SandboxProgram::kLimit;
  while (it::http_answer(address, 80, "/hostname").starts_with("!")) {
    REQUIRE_MESSAGE(std::chrono::steady_clock::now() < deadline, sandbox.log());
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

TEST_CASE("two sandboxes do not disturb each other") {
  testing::DockerRig rig;
  SandboxProgram one;
  SandboxProgram other;
  one.start("sandbox");
  one.await_up();
  it::Diary diary(one.client(), "default");
  const auto served = serve_web(one, diary);
  other.start("sandbox");
  other.await_up();
  {
    it::Diary second(other.client(), "default");
    serve_web(other, second);
  }
  other.child->signal(SIGINT);
  CHECK_MESSAGE(other.await_end() == 0, other.log());
  other.check_gone(rig.engine());
  CHECK(it::http_answer(served.status.ingress[0].ip, 80, "/hostname").starts_with("echo-"));
}

TEST_CASE("even a second Ctrl-C leaves nothing behind") {
  testing::DockerRig rig;
  SandboxProgram sandbox;
  sandbox.start("sandbox");
  SUBCASE("while it starts") {
    sandbox.await_begun();
  }
  SUBCASE("while it serves") {
    sandbox.await_up();
    it::Diary diary(sandbox.client(), "default");
    serve_web(sandbox, diary);
  }
  sandbox.child->signal(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // as fast as fingers
  sandbox.child->signal(SIGINT);
  sandbox.await_end();
  sandbox.check_gone(rig.engine());
}

TEST_CASE("what keeps a sandbox from starting is told in one line") {
  testing::DockerRig rig;
  SandboxProgram program;
  SUBCASE("the port is in use") {
    SandboxProgram first;
    first.start("sandbox", {"--api-only"});
    first.await_up();
    program.port = first.port;
    program.start("sandbox");
    check_complaint(program, rig.engine().networks(), std::to_string(first.port));
  }
  SUBCASE("the kubeconfig cannot be written") {
    program.start("sandbox", {"--kubeconfig-out", (program.folder / "no" / "where").string()});
    check_complaint(program, rig.engine().networks(), "--kubeconfig-out");
  }
  SUBCASE("the kubeconfig is somebody else's") {
    std::ofstream(program.config()) << "current-context: mine\n";
    program.start("sandbox");
    check_complaint(program, rig.engine().networks(), "--kubeconfig-out");
    CHECK(it::read_text(program.config()) == "current-context: mine\n");
  }
  SUBCASE("no engine answers") {
    program.start("sandbox", {"--docker-host", "unix:///nowhere.sock"});
    check_complaint(program, rig.engine().networks(), "nowhere.sock");
  }
  SUBCASE("the echo program is missing") {
    program.start("demo", {"--echo", (program.folder / "nothing").string()});
    check_complaint(program, rig.engine().networks(), "kindlb-echo");
  }
  SUBCASE("the state cannot be kept") {
    program.start("sandbox", {"--state", (program.folder / "no" / "where").string()});
    check_complaint(program, rig.engine().networks(), "--state");
  }
}
