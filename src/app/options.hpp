#pragma once
// The command line as values. Parsing neither exits nor prints: it returns what main has to do. The
// same definitions produce the help, the completion scripts and, through a test, docs/reference.md.

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
/// What happens to proxies when `kindlb run` ends.
enum class OnExit { Keep, Delete };

enum class PlanFormat { Text, Json, Yaml };

/// The flags of `kindlb plan`.
struct PlanOptions {
  std::vector<std::string> files;  ///< "-": standard input; a folder: all manifests in it
  std::string cluster;  ///< file that describes the cluster; empty: a typical kind cluster
  PlanFormat format = PlanFormat::Text;
  bool exit_code =
      false;  ///< exit with 1 if a Service would be degraded, refused or would not work
};

/// The flags of `kindlb sandbox` and its verbs, and of `kindlb demo`, which starts a sandbox, too.
struct SandboxOptions : sandbox::Settings {
  bool api_only = false;
  std::string verb;      ///< scale, kill, ready, unready; empty: run the sandbox
  std::string argument;  ///< of the verb: a number of replicas, or a pod
};

using DemoOptions = demo::Settings;

/// The flags of `kindlb conformance`.
struct ConformanceOptions {
  conformance::Settings settings;
  bool list = false;
  bool remove_leftovers = false;
  bool json = false;       ///< print JSON instead of the table
  std::string junit_file;  ///< empty: none
  std::string json_file;
};

/// All commands share this struct. Fields of other commands than `command` have their defaults.
struct Options {
  Command command = Command::Run;

  // clusters
  std::string kubeconfig;
  std::string context;
  std::string network = "kind";
  bool single_cluster = false;  ///< --kubeconfig or --context was given: serve only that cluster

  // Services
  core::Policy policy;  ///< with the capabilities of the profile
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

/// What main has to do: run a command, or print a text and exit.
struct Parsed {
  std::optional<Options> options;
  std::string text;  ///< help, or one line about a wrong command line
  int exit_code = 0;
};

/// Parse the arguments, without the program's name. Reads $KINDLB_ENVOY_IMAGE and the file of
/// --profile; has no other effects.
Parsed parse(const std::vector<std::string>& arguments);

/// Return the completion script for "bash", "zsh" or "fish".
std::string completion_script(const std::string& shell);

}  // namespace kindlb::app
