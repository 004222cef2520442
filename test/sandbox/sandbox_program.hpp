#pragma once
// `kindlb sandbox` or `kindlb demo` as a child, with a folder and a port of its own. Ends with the
// object, and its folder with it.

#include "support/docker_rig.hpp"
#include "support/paths.hpp"
#include "support/servers/child.hpp"

#include <signal.h>
#include <stdlib.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace kindlb::it {

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

class SandboxProgram {
 public:
  using Words = std::vector<std::string>;
  static constexpr std::chrono::seconds kLimit{120};

  SandboxProgram() {
    auto pattern = (std::filesystem::temp_directory_path() / "kindlb-sandbox-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    folder = pattern;
    port = test::free_port();
  }
  ~SandboxProgram() {
    if (child) {
      child->signal(SIGTERM);
      child->wait(kLimit);
    }
    child.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  SandboxProgram(const SandboxProgram&) = delete;
  SandboxProgram& operator=(const SandboxProgram&) = delete;

  std::string listen() const { return "127.0.0.1:" + std::to_string(port); }
  std::string url() const { return "http://" + listen(); }
  std::string config() const { return (folder / "kubeconfig").string(); }
  std::string name() const { return "kindlb-sandbox-" + std::to_string(port); }
  std::string log() const { return read_text(folder / "log"); }

  std::shared_ptr<http::Client> client() const {
    return testing::must(http::make_client({.url = url()}));
  }

  void start(const std::string& command, const Words& flags = {}) {
    Words words = {test::program("kindlb"), command};
    const std::pair<std::string, std::string> usual[] = {{"--listen", listen()},
                                                         {"--kubeconfig-out", config()},
                                                         {"--agent", test::program("kindlb-agent")},
                                                         {"--envoy-image", testing::envoy_image()},
                                                         {"--echo", test::program("kindlb-echo")},
                                                         {"--warm-proxies", "1"}};
    for (const auto& [flag, value] : usual)
      if (std::ranges::find(flags, flag) == flags.end()) words.insert(words.end(), {flag, value});
    words.insert(words.end(), flags.begin(), flags.end());
    child = std::make_unique<test::Child>(words, folder / "log");
  }
  /// Until the kubeconfig is there.
  void await_up() {
    await([this] { return std::filesystem::exists(config()); });
  }
  /// Until it heeds signals.
  void await_begun() {
    await([this] {
      return std::filesystem::exists(config() + ".tmp") || std::filesystem::exists(config());
    });
  }
  void await(const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + kLimit;
    while (!holds()) {
      REQUIRE_MESSAGE(child->running(), log());
      REQUIRE_MESSAGE(std::chrono::steady_clock::now() < deadline, log());
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  /// Its exit code.
  int await_end() {
    const auto code = child->wait(2 * kLimit);
    REQUIRE_MESSAGE(code.has_value(), log());
    return *code;
  }
  /// Nothing on the engine or on the disk tells of it any more.
  void check_gone(docker::Engine& engine) const {
    CHECK_FALSE(std::filesystem::exists(config()));
    CHECK_FALSE(std::filesystem::exists(config() + ".tmp"));
    const auto network = engine.networks().inspect(name());
    CHECK((!network && network.error().kind == core::ErrorKind::NotFound));
    CHECK(
        testing::must(engine.containers().list({"kindlb.dev/sandbox-workload=" + name()})).empty());
    CHECK(testing::must(engine.containers().list({"kindlb.dev/network=" + name()})).empty());
  }

  std::filesystem::path folder;
  int port = 0;
  std::unique_ptr<test::Child> child;
};

}  // namespace kindlb::it
