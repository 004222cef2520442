#pragma once
// What came out of a run, and how it is shown: a table for people, JSON and JUnit XML for programs.
// The list of tests is shown likewise.

#include "kindlb/conformance/judge.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace kindlb::conformance {

enum class Verdict {
  Pass,
  Fail,
  Skip,
  Stopped,  ///< Ctrl-C came first
};
const char* name_of(Verdict verdict);  ///< "pass", "fail", "skip", "stopped"

struct Outcome {
  Verdict verdict = Verdict::Pass;
  std::string reason;  ///< empty for Pass

  bool operator==(const Outcome&) const = default;
};

struct TestResult {
  std::string name;
  std::string title;  ///< as the KEP names it
  Outcome outcome;
  milliseconds took{0};
  std::vector<std::string> notes;  ///< worth knowing, whatever the outcome
};

struct Report {
  std::string server;  ///< URL of the API, for people
  std::string version;
  Provider provider = Provider::Unknown;
  std::vector<std::string> remarks;  ///< about the whole run
  std::vector<TestResult> results;
  milliseconds took{0};  ///< without removing what the tests made

  std::size_t count(Verdict verdict) const;
};

struct TestInfo {
  std::string name;
  std::string title;
  std::string rule;  ///< what a provider that lacks it may do, for people
};

/// One sentence: who provides, and what that means for the results.
std::string describe(Provider provider);

/// 0 only when tests ran, none failed and none was cut short; else 1.
int exit_code(const Report& report);

std::string to_table(const Report& report);
std::string to_json(const Report& report);
std::string to_junit(const Report& report);

std::string to_table(const std::vector<TestInfo>& tests);
std::string to_json(const std::vector<TestInfo>& tests);

}  // namespace kindlb::conformance
