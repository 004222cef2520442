#pragma once
// The definitions of flags, by command. Only the sources that define flags include it: CLI11 is
// slow to compile.

#include "options.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <utility>
#include <vector>

namespace kindlb::app {

/// Add an option whose value is one of a few words, which the help lists: "--datapath auto|direct".
template <typename T>
CLI::Option* add_choice(CLI::App& command, const std::string& name, T& target,
                        const std::vector<std::pair<std::string, T>>& choices,
                        const std::string& description) {
  std::string words;
  for (const auto& [word, value] : choices) words += (words.empty() ? "" : "|") + word;
  const auto set = [name, &target, choices, words](const std::string& text) {
    for (const auto& [word, value] : choices) {
      if (word != text) continue;
      target = value;
      return;
    }
    throw CLI::ValidationError(name, "must be " + words + ", not " + text);
  };
  return command.add_option_function<std::string>(name, set, description)->option_text(words);
}

void add_plan_flags(CLI::App& plan, PlanOptions& options);
/// The flags of both commands that start a sandbox.
void add_sandbox_flags(CLI::App& command, SandboxOptions& options);
/// What only `kindlb sandbox` has: --api-only, and the verbs that change a running sandbox.
void add_sandbox_verbs(CLI::App& sandbox, SandboxOptions& options);
void add_demo_flags(CLI::App& demo, DemoOptions& options);
void add_conformance_flags(CLI::App& command, ConformanceOptions& options);

}  // namespace kindlb::app
