#include "app/flags.hpp"

#include <regex>

namespace kindlb::app {

namespace {
constexpr const char* kConformanceExamples =
    "Examples:\n"
    "  kindlb conformance --kubeconfig dev.yaml           all tests, whoever provides there\n"
    "  kindlb conformance --focus 'udp|mixed' --junit udp.xml\n"
    "  kindlb conformance --list                          the tests, and what may be refused\n"
    "  kindlb conformance --kubeconfig kindlb-sandbox.kubeconfig --workload-selector app=echo \\\n"
    "                     --workload-udp-port 8080        those that a kindlb sandbox can carry\n"
    "A test skips where the provider says that it does not support what is tested\n"
    "(LoadBalancerServing=False/Unsupported, or LoadBalancerDegraded for that very feature),\n"
    "and fails if every provider must support it. docs/conformance.md has the rules.\n"
    "Exit codes: 0 no test failed, 1 one failed or was cut short, 2 it could not begin.\n"
    "Ctrl-C stops the tests and removes what they made.";

std::string check_pattern(const std::string& text) {
  try {
    const std::regex pattern(text);
    return "";
  } catch (const std::regex_error&) {
    return "'" + text + "' is no regular expression";
  }
}

void add_workload_flags(CLI::App& command, conformance::Workload& workload) {
  constexpr const char* kGroup = "Workload";
  command
      .add_option("--image", workload.image,
                  "agnhost, or an image that takes its arguments [the one a node has, else the "
                  "public one]")
      ->group(kGroup);
  command
      .add_option("--workload-selector", workload.selector,
                  "Use pods that are there instead, by a label: app=echo")
      ->group(kGroup);
  command.add_option("--workload-namespace", workload.ns, "Where those pods are")
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--workload-port", workload.tcp_port,
                  "Their TCP port, which answers HTTP GET /hostname")
      ->capture_default_str()
      ->group(kGroup);
  command.add_option("--workload-udp-port", workload.udp_port, "Their UDP port, which answers")
      ->capture_default_str()
      ->group(kGroup);
}

/// "30s", "10m"; a bare number counts seconds.
CLI::Option* add_time(CLI::App& command, const std::string& name, conformance::milliseconds& target,
                      const std::string& description) {
  const auto set = [&target](const double& seconds) {
    target = conformance::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  };
  return command.add_option_function<double>(name, set, description)
      ->transform(
          CLI::AsNumberWithUnit(std::map<std::string, double>{{"s", 1}, {"m", 60}, {"h", 3600}}))
      ->check(CLI::Range(1.0, 86400.0).description(""))
      ->option_text("TIME");
}
}  // namespace

void add_conformance_flags(CLI::App& command, ConformanceOptions& options) {
  command.footer(kConformanceExamples);
  constexpr const char* kGroup = "Tests";
  auto& settings = options.settings;
  command.add_flag("--list", options.list, "Name the tests and leave")->group(kGroup);
  command
      .add_option("--focus", settings.focus, "Only tests whose names match this regular expression")
      ->check(check_pattern)
      ->group(kGroup);
  command.add_option("--parallel", settings.parallel, "Tests at a time")
      ->check(CLI::Range(1, 32).description(""))
      ->capture_default_str()
      ->group(kGroup);
  add_time(command, "--timeout", settings.limits.conditions,
           "How long conditions may take to appear or to tell of a change [30s, as the KEP says]")
      ->group(kGroup);
  add_time(command, "--provision-timeout", settings.limits.provisioning,
           "How long provisioning may take once they have appeared [10m]")
      ->group(kGroup);
  command
      .add_option("--namespace-prefix", settings.namespace_prefix,
                  "How the namespace made for the tests begins")
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--load-balancer-class", settings.load_balancer_class,
                  "Class of the Services, to test a provider that serves it [none]")
      ->group(kGroup);
  command
      .add_option("--features-annotation", settings.features_annotation,
                  "Say required features in this annotation, too, for a provider that reads it: "
                  "kindlb.dev/required-load-balancer-features")
      ->group(kGroup);
  command
      .add_flag("--remove-leftovers", options.remove_leftovers,
                "Remove what earlier runs left behind and leave")
      ->group(kGroup);
  add_workload_flags(command, settings.workload);
  constexpr const char* kResults = "Results";
  add_choice<bool>(command, "-o,--output", options.json, {{"table", false}, {"json", true}},
                   "What to print [table]")
      ->group(kResults);
  command.add_option("--junit", options.junit_file, "Write JUnit XML to this file")
      ->group(kResults);
  command.add_option("--json", options.json_file, "Write JSON to this file")->group(kResults);
}

}  // namespace kindlb::app
