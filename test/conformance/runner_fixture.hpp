#pragma once
// What tests of the runner share: one API server for all, and a namespace with a provider for each.

#include "conformance/scripted_provider.hpp"
#include "kindlb/conformance/runner.hpp"
#include "kindlb/kube/objects.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace kindlb::conformance {

inline test::KubeServer& server() {
  static test::KubeServer server;
  return server;
}

class Notes final : public Listener {
 public:
  void message(const std::string& line) override { lines.push_back(line); }
  void test_finished(const TestResult& result) override { finished_names.push_back(result.name); }
  void tests_finished(const Report& report) override {
    if (on_tests_finished) on_tests_finished(report);
  }

  std::function<void(const Report&)> on_tests_finished;
  std::vector<std::string> lines;
  std::vector<std::string> finished_names;
};

inline std::string new_namespace() {
  static int count = 0;
  const auto ns = "conf-" + std::to_string(++count);
  const test::Rest rest(server().client());
  rest.create("/api/v1/namespaces", nlohmann::json{{"metadata", {{"name", ns}}}}.dump());
  for (const char* name : {"first", "second"}) {
    const nlohmann::json pod{{"metadata", {{"name", name}, {"labels", {{"app", "pods"}}}}},
                             {"spec", {{"containers", {{{"name", "c"}, {"image", "none"}}}}}}};
    rest.create("/api/v1/namespaces/" + ns + "/pods", pod.dump());
  }
  return ns;
}

struct Fixture {
  explicit Fixture(Behaviour behaviour) : ns(new_namespace()), provider(server(), ns, behaviour) {
    settings.workload.selector = "app=pods";
    settings.workload.ns = ns;
  }

  Report run(const std::string& focus) {
    settings.focus = focus;
    auto report = conformance::run(*objects, settings, notes, stop.get_token());
    REQUIRE_MESSAGE(report.ok(), report.error().text());
    return *report;
  }
  std::vector<std::string> leftovers() { return *find_leftovers(*objects); }
  /// Stops the run as soon as the namespace's Services have these words in them.
  std::jthread stop_once_there(const std::string& words) {
    return std::jthread([this, words] {
      const test::Rest rest(server().client());
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(25);
      while (rest.get("/api/v1/namespaces/" + ns + "/services").find(words) == std::string::npos &&
             std::chrono::steady_clock::now() < deadline)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      stop.request_stop();
    });
  }

  std::string ns;
  std::shared_ptr<kube::Objects> objects = kube::make_objects(server().client());
  Settings settings;
  Notes notes;
  std::stop_source stop;
  ScriptedProvider provider;
};

inline void check(const TestResult& result, Verdict verdict, const std::string& words) {
  CAPTURE(result.name);
  CAPTURE(result.outcome.reason);
  CHECK(result.outcome.verdict == verdict);
  CHECK(result.outcome.reason.find(words) != std::string::npos);
}

inline bool mentions(const std::vector<std::string>& lines, const std::string& words) {
  for (const auto& line : lines)
    if (line.find(words) != std::string::npos) return true;
  return false;
}

}  // namespace kindlb::conformance
