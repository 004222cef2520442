#pragma once
// The results of a run as plain values, and their formats: a table for people, JSON and JUnit XML
// for programs. The list of tests has the same formats. Pure.

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
  Stopped,  ///< Ctrl-C ended the run before the test was over
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
  std::vector<std::string> notes;  ///< observations that do not decide the outcome
};

struct Report {
  std::string server;  ///< URL of the API server
  std::string version;
  Provider provider = Provider::Unknown;
  std::vector<std::string> remarks;  ///< about the whole run
  std::vector<TestResult> results;
  milliseconds took{0};  ///< without the clean-up

  std::size_t count(Verdict verdict) const;
};

struct TestInfo {
  std::string name;
  std::string title;
  std::string rule;  ///< "required", "may be refused", "requires SessionAffinity"
};

/// Say in one sentence what kind of provider it is and what that means for the results.
std::string describe(Provider provider);

/// Return 0 if tests ran and each passed or was skipped, else 1.
int exit_code(const Report& report);

std::string to_table(const Report& report);
std::string to_json(const Report& report);
std::string to_junit(const Report& report);

std::string to_table(const std::vector<TestInfo>& tests);
std::string to_json(const std::vector<TestInfo>& tests);

}  // namespace kindlb::conformance
