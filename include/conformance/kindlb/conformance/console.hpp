#pragma once
// Progress of `kindlb conformance` on standard error; standard output has only the results, so they
// can be piped. On a terminal, one line at the bottom shows what every test is doing and is redrawn
// in place; elsewhere, each change of a Service's conditions is a line, and so is a long wait.

#include "kindlb/conformance/runner.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <string>

namespace kindlb::conformance {

/// What the live line shows.
struct ConformanceProgress {
  struct Running {
    std::string state;  ///< the Service's conditions; empty: none seen yet
    std::string wait;   ///< what the test waits for; empty: nothing
    std::chrono::seconds waited{0};
  };
  std::size_t total = 0;
  std::size_t done = 0;
  std::size_t failed = 0;
  std::map<std::string, Running> running;
};

/// Return "7 of 27 done, 1 failed | source-ranges: waiting for the pods to be ready (12 s)", cut to
/// `width` columns. Never contains a control character, whatever a provider wrote.
std::string live_line(const ConformanceProgress& progress, std::size_t width);

/// Not safe for concurrent use: the runner serializes its calls. Erases the live line on
/// destruction, which therefore comes before results are printed.
class Console final : public conformance::Listener {
 public:
  /// `keep`: called with the results before the clean-up, which may take minutes.
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
  void print(const std::string& line);
  void draw();

  const std::function<void(const conformance::Report&)> keep_;
  const bool terminal_;
  std::string drawn_;  ///< the live line as it is on the terminal; empty: none
  ConformanceProgress progress_;
};

}  // namespace kindlb::conformance
