#pragma once
// The command line as values. Parsing never exits and never prints: it says what to do next.

#include "kindlb/conformance/settings.hpp"
#include "kindlb/core/policy.hpp"
#include "kindlb/demo/demo.hpp"
#include "kindlb/log/log.hpp"
#include "kindlb/sandbox/session.hpp"

#include <optional>
#include <string>
#include <vector>

namespace kindlb::app {

enum class Command { Run, Plan, Sandbox, Demo, Conformance, Version, Cleanup, Completion };
using LogFormat = log::Format;
enum class OnExit { Keep, Delete };

enum class PlanFormat { Text, Json, Yaml };

/// Of `kindlb plan` alone.
struct PlanOptions {
  std::vector<std::string> files;  ///< "-": standard input; a folder: its manifests
  std::string cluster;             ///< file with facts; empty: kind's usual ones
  PlanFormat format = PlanFormat::Text;
  bool exit_code = false;  ///< 1 when a Service would be degraded, refused or would not work
};

/// Of `kindlb sandbox`, and of what starts one.
struct SandboxOptions : sandbox::Settings {
  bool api_only = false;
  std::string verb;  ///< scale, kill, ready, unready; empty: run the sandbox
  std::string argument;
};

using DemoOptions = demo::Settings;

/// Of `kindlb conformance` alone.
struct ConformanceOptions {
  conformance::Settings settings;
  bool list = false;
  bool remove_leftovers = false;
  bool json = false;       ///< print JSON instead of a table
  std::string junit_file;  ///< empty: none
  std::string json_file;
};

struct Options {
  Command command = Command::Run;

  // clusters
  std::string kubeconfig;
  std::string context;
  std::string network = "kind";
  bool single_cluster = false;  ///< --kubeconfig or --context was given

  // Services
  core::Policy policy;  ///< the profile's capabilities included
  std::string profile = "full";

  // proxies
  std::size_t warm_proxies = 2;
  std::size_t services_per_proxy = 1;  ///< 0: no limit
  std::string envoy_image = "kindlb/envoy:v1.40.0";
  std::string agent_binary;  ///< empty: beside kindlb itself
  OnExit on_exit = OnExit::Keep;

  // engine and logs
  std::string docker_host;
  std::string log_level = "info";
  LogFormat log_format = LogFormat::Human;

  PlanOptions plan;
  SandboxOptions sandbox;
  DemoOptions demo;
  ConformanceOptions conformance;

  bool assume_yes = false;  ///< cleanup
  std::string shell;        ///< completion
};

/// What main does with a command line: run it, or print this and leave.
struct Parsed {
  std::optional<Options> options;
  std::string text;  ///< help or one line about a mistake
  int exit_code = 0;
};

Parsed parse(const std::vector<std::string>& arguments);

/// The completion script for "bash", "zsh" or "fish", made from the same definitions.
std::string completion_script(const std::string& shell);

}  // namespace kindlb::app
