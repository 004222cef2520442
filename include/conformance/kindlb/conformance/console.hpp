#pragma once
// Progress of `kindlb conformance` on standard error, so that results can be piped. On a terminal,
// a line at the bottom tells what every test does right now; elsewhere, each change of a Service's
// conditions is a line, and so is a wait that lasts.

#include "kindlb/conformance/runner.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <string>

namespace kindlb::conformance {

/// What is known of the tests that run now.
struct ConformanceProgress {
  struct Running {
    std::string state;  ///< what the Service's conditions say; empty: not of interest yet
    std::string wait;   ///< what is waited for; empty: nothing
    std::chrono::seconds waited{0};
  };
  std::size_t total = 0;
  std::size_t done = 0;
  std::size_t failed = 0;
  std::map<std::string, Running> running;
};

/// "7 of 25 done, 1 failed | source-ranges: waiting until the pods ready (12 s)", at most `width`
/// wide.
std::string live_line(const ConformanceProgress& progress, std::size_t width);

class Console final : public conformance::Listener {
 public:
  /// `keep`: what to do with the results, which are there before all is removed.
  explicit Console(std::function<void(const conformance::Report&)> keep = {});
  ~Console() override;
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void tests_started(std::size_t tests) override;
  void message(const std::string& line) override;
  void status_changed(const std::string& test, const std::string& state) override;
  void waiting(const std::string& test, const std::string& what,
               conformance::milliseconds waited) override;
  void test_finished(const conformance::TestResult& result) override;
  void tests_finished(const conformance::Report& report) override;

 private:
  void print(std::string line);
  void draw();

  const std::function<void(const conformance::Report&)> keep_;
  const bool terminal_;
  std::string drawn_;
  ConformanceProgress progress_;
};

}  // namespace kindlb::conformance
