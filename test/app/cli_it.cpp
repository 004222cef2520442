// The real binary with what people get wrong: one line on standard error that says what to do, and
// exit code 2.
#include "kindlb/base/version.hpp"
#include "support/docker_rig.hpp"
#include "support/paths.hpp"
#include "support/servers/child.hpp"
#include "support/servers/http_server.hpp"
#include "support/temp_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using namespace kindlb;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr std::chrono::seconds kLimit{30};

struct Outcome {
  int code = -1;
  std::string text;  ///< both streams
};

std::string contents(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Runs a command to its end; standard input is empty.
Outcome run_command(const Words& command) {
  const test::TempFolder folder;
  test::Child child(command, folder / "output");
  const auto code = child.wait(kLimit);
  REQUIRE_MESSAGE(code.has_value(), "it did not end: " << contents(folder / "output"));
  return {*code, contents(folder / "output")};
}

Outcome run_kindlb(Words arguments) {
  arguments.insert(arguments.begin(), test::program("kindlb"));
  return run_command(arguments);
}

void check_complaint(const Outcome& outcome, const Words& mentions) {
  CAPTURE(outcome.text);
  CHECK(outcome.code == 2);
  CHECK(outcome.text.starts_with("kindlb: "));
  CHECK(std::ranges::count(outcome.text, '\n') == 1);
  for (const auto& part : mentions)
    CHECK_MESSAGE(outcome.text.find(part) != std::string::npos, part);
}

std::string kubeconfig(const std::string& server) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: dev\n"
         "contexts:\n- name: dev\n  context: {cluster: dev, user: dev}\n"
         "clusters:\n- name: dev\n  cluster: {server: \"" +
         server + "\"}\nusers:\n- name: dev\n  user: {token: secret}\n";
}

}  // namespace

TEST_CASE("a wrong command line ends before anything is tried") {
  check_complaint(run_kindlb({"run", "--frobnicate"}), {"--frobnicate", "--help"});
  check_complaint(run_kindlb({"--datapath", "teleport"}), {"teleport"});
}

TEST_CASE("a kubeconfig that cannot be used") {
  const testing::DockerRig engine;  // it is asked for first
  const test::TempFolder folder;
  SUBCASE("is not there") {
    check_complaint(run_kindlb({"run", "--kubeconfig", folder / "nowhere"}), {folder / "nowhere"});
  }
  SUBCASE("is not YAML") {
    const auto file = folder.write("bad", "clusters: [\n  {name: \n");
    check_complaint(run_kindlb({"run", "--kubeconfig", file}), {file});
  }
  SUBCASE("is not a kubeconfig") {
    const auto file = folder.write("odd", "- 1\n- 2\n");
    check_complaint(run_kindlb({"run", "--kubeconfig", file}), {file});
  }
  SUBCASE("has no such context") {
    const auto file = folder.write("good", kubeconfig("https://127.0.0.1:1"));
    check_complaint(run_kindlb({"run", "--kubeconfig", file, "--context", "prod"}), {"prod"});
  }
  SUBCASE("names a server nobody listens on") {
    const auto server = "https://127.0.0.1:" + std::to_string(test::free_port());
    const auto file = folder.write("good", kubeconfig(server));
    check_complaint(run_kindlb({"run", "--kubeconfig", file}), {server});
  }
  SUBCASE("needs a program to log in") {
    auto text = kubeconfig("https://127.0.0.1:1");
    text.replace(text.find("{token: secret}"), 15, "{exec: {command: aws}}");
    const auto file = folder.write("exec", text);
    check_complaint(run_kindlb({"run", "--kubeconfig", file}), {"exec"});
  }
}

TEST_CASE("an engine that cannot be used") {
  const test::TempFolder folder;
  SUBCASE("is not there") {
    for (const std::string command : {"run", "cleanup"}) {
      Words words = {command, "--docker-host", "unix://" + (folder / "docker.sock")};
      if (command == "cleanup") words.emplace_back("--yes");
      check_complaint(run_kindlb(words), {folder / "docker.sock", "is Docker running?"});
    }
  }
  SUBCASE("is no engine") {
    test::HttpServer server([](test::Exchange& exchange) { exchange.answer(404, "what?"); });
    const auto host = "tcp://127.0.0.1:" + std::to_string(server.port());
    check_complaint(run_kindlb({"run", "--docker-host", host}),
                    {"not a Docker engine", "DOCKER_HOST"});
  }
  SUBCASE("is too old") {
    test::HttpServer server([](test::Exchange& exchange) {
      exchange.answer(200, R"({"Version":"1.12.6","ApiVersion":"1.24","MinAPIVersion":"1.12",)"
                           R"("Os":"linux"})");
    });
    const auto host = "tcp://127.0.0.1:" + std::to_string(server.port());
    check_complaint(run_kindlb({"run", "--docker-host", host}),
                    {"1.12.6", "1.24", "upgrade Docker"});
  }
  SUBCASE("has an address nobody understands") {
    check_complaint(run_kindlb({"run", "--docker-host", "carrier-pigeon:"}), {"carrier-pigeon:"});
  }
  SUBCASE("does not let us in") {
    test::HttpServer server([](test::Exchange& exchange) { exchange.answer(200, "{}"); },
                            {.unix_socket = true});
    const auto socket = server.url().substr(std::string("unix://").size());
    // Everybody may look for the socket, nobody but its owner may use it.
    fs::permissions(fs::path(socket).parent_path(), fs::perms(0755));
    fs::permissions(socket, fs::perms(0600));
    // A copy, since others may not be allowed to look into the build directory.
    fs::permissions(folder / "", fs::perms(0755));
    fs::copy_file(test::program("kindlb"), folder / "kindlb");
    Words command = {folder / "kindlb", "run", "--docker-host", server.url()};
    if (::geteuid() == 0) {
      const Words nobody = {"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
      command.insert(command.begin(), nobody.begin(), nobody.end());
    } else {
      fs::permissions(socket, fs::perms::none);  // not even its owner
    }
    check_complaint(run_command(command), {"group docker"});
  }
}

TEST_CASE("cleanup asks, and where nobody can answer it does nothing") {
  check_complaint(run_kindlb({"cleanup"}), {"--yes"});
}

TEST_CASE("an Envoy image or an agent that is not there") {
  const testing::DockerRig engine;
  const test::TempFolder folder;
  SUBCASE("agent") {
    check_complaint(
        run_kindlb({"run", "--agent", folder / "agent", "--envoy-image", testing::envoy_image()}),
        {folder / "agent"});
  }
}

TEST_CASE("what is asked for is printed") {
  const auto version = run_kindlb({"version"});
  CHECK(version.code == 0);
  CHECK(version.text == "kindlb " + base::version() + "\n");
  CHECK(run_kindlb({"--version"}).text == version.text);
  const auto help = run_kindlb({"--help"});
  CHECK(help.code == 0);
  CHECK(help.text.find("Examples:") != std::string::npos);
}

TEST_CASE("bash can read the completion script, and completes with it") {
  const test::TempFolder folder;
  const auto script = run_kindlb({"completion", "bash"});
  CHECK(script.code == 0);
  const auto file = folder.write("kindlb.bash", script.text);
  CHECK(run_command({"/bin/bash", "-n", file}).code == 0);
  const auto complete = [&](const std::string& words, int at) {
    return run_command({"/bin/bash", "-c",
                        "source " + file + "; COMP_WORDS=(" + words + "); COMP_CWORD=" +
                            std::to_string(at) + "; _kindlb; echo \"${COMPREPLY[@]}\""})
        .text;
  };
  CHECK(complete("kindlb cl", 1) == "cleanup\n");
  CHECK(complete("kindlb run --on", 2) == "--on-exit\n");
  CHECK(complete("kindlb completion z", 2) == "zsh\n");
}
