#include "flags.hpp"
#include "kindlb/conformance/runner.hpp"

#include <charconv>
#include <optional>
#include <regex>

namespace kindlb::app {

namespace {
constexpr std::int64_t kDay = 86'400'000;

constexpr const char* kConformanceExamples =
    "Examples:\n"
    "  kindlb conformance --kubeconfig dev.yaml                run all tests on that cluster\n"
    "  kindlb conformance --focus 'udp|mixed' --junit udp.xml  run some, and write JUnit XML\n"
    "  kindlb conformance --list                               list the tests\n"
    "  kindlb conformance --kubeconfig kindlb-sandbox.kubeconfig --workload-selector app=echo \\\n"
    "                     --workload-udp-port 8080             test a running kindlb sandbox\n"
    "A test is skipped if the provider reports that it does not support the feature under test\n"
    "(LoadBalancerServing=False/Unsupported, or LoadBalancerDegraded for that feature), and fails\n"
    "if every provider must support it. docs/conformance.md has the rules.\n"
    "Exit codes: 0 no test failed; 1 a test failed or was interrupted; 2 the tests could not "
    "start\n"
    "or the results could not be written. Ctrl-C stops the tests and removes what they created; a\n"
    "second Ctrl-C exits at once (130) and leaves that to --remove-leftovers.";

std::string check_focus(const std::string& text) {
  try {
    if (!conformance::list_tests(text).empty()) return "";
    return "no test has a name that matches '" + text + "'; --list shows them";
  } catch (const std::regex_error&) {
    return "'" + text + "' is not a regular expression";
  }
}

// Validators of CLI11: return an empty string for a valid value, else what is wrong and what to
// write.

std::string check_label(const std::string& text) {
  static const std::regex kLabel("[A-Za-z0-9][-A-Za-z0-9_./]*=[A-Za-z0-9][-A-Za-z0-9_.]*");
  if (std::regex_match(text, kLabel)) return "";
  return "'" + text + "' is not a label; write name=value, for example app=echo";
}

/// "-" and the run's six characters are appended, and the result must be a valid namespace name.
std::string check_prefix(const std::string& text) {
  static const std::regex kName("[a-z]([-a-z0-9]{0,48}[a-z0-9])?");
  if (std::regex_match(text, kName)) return "";
  return "'" + text +
         "' cannot begin the name of a namespace; use at most 50 of a-z, 0-9 and -, beginning with "
         "a "
         "letter";
}

/// Parse "30s", "10m" or "1h"; a number without a unit is in seconds.
std::optional<conformance::milliseconds> time_of(const std::string& text) {
  static const std::map<std::string, std::int64_t> kUnits{
      {"", 1'000}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}};
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto unit = kUnits.find(std::string(read.ptr, text.data() + text.size()));
  if (read.ec != std::errc() || unit == kUnits.end()) return std::nullopt;
  if (number < 1 || number > kDay / unit->second) return std::nullopt;
  return conformance::milliseconds(number * unit->second);
}

std::string check_time(const std::string& text) {
  return time_of(text) ? ""
                       : "'" + text + "' is not a time between 1s and 24h; write 45s, 10m or 1h";
}

void add_workload_flags(CLI::App& command, conformance::Workload& workload) {
  constexpr const char* kGroup = "Workload";
  command
      .add_option("--image", workload.image,
                  "The image of the test pods: agnhost, or one that takes the same arguments [the "
                  "one a node has, else the public one]")
      ->type_name("IMAGE")
      ->group(kGroup);
  command
      .add_option("--workload-selector", workload.selector,
                  "Use existing pods with this label (app=echo) instead of creating pods")
      ->type_name("LABEL")
      ->check(check_label)
      ->group(kGroup);
  command.add_option("--workload-namespace", workload.ns, "The namespace of those pods")
      ->type_name("NAMESPACE")
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--workload-port", workload.tcp_port,
                  "Their TCP port; it must answer HTTP GET /hostname and /clientip")
      ->type_name("PORT")
      ->check(CLI::Range(1, 65535).description(""))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--workload-udp-port", workload.udp_port,
                  "Their UDP port; it must answer every datagram")
      ->type_name("PORT")
      ->check(CLI::Range(1, 65535).description(""))
      ->capture_default_str()
      ->group(kGroup);
}

CLI::Option* add_time(CLI::App& command, const std::string& name, conformance::milliseconds& target,
                      const std::string& description) {
  const auto set = [&target](const std::string& text) { target = time_of(text).value_or(target); };
  return command.add_option_function<std::string>(name, set, description)
      ->check(check_time)
      ->option_text("TIME");
}
}  // namespace

void add_conformance_flags(CLI::App& command, ConformanceOptions& options) {
  command.footer(kConformanceExamples);
  constexpr const char* kGroup = "Tests";
  auto& settings = options.settings;
  command
      .add_flag("--list", options.list, "Print the tests, and what a provider may refuse, and exit")
      ->group(kGroup);
  command
      .add_option("--focus", settings.focus,
                  "Run only the tests whose names match this regular expression")
      ->type_name("REGEX")
      ->check(check_focus)
      ->group(kGroup);
  command.add_option("--parallel", settings.parallel, "How many tests run at a time")
      ->type_name("N")
      ->check(CLI::Range(1, 32).description(""))
      ->capture_default_str()
      ->group(kGroup);
  add_time(command, "--timeout", settings.limits.conditions,
           "How long conditions may take to appear or to reflect a change [30s]")
      ->group(kGroup);
  add_time(command, "--provision-timeout", settings.limits.provisioning,
           "How long provisioning may take once the conditions have appeared [10m]")
      ->group(kGroup);
  command
      .add_option("--namespace-prefix", settings.namespace_prefix,
                  "The prefix of the name of the namespace that the tests use")
      ->type_name("PREFIX")
      ->check(check_prefix)
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--load-balancer-class", settings.load_balancer_class,
                  "The class of the test Services, for a provider that serves a class [none]")
      ->type_name("CLASS")
      ->group(kGroup);
  command
      .add_option("--features-annotation", settings.features_annotation,
                  "Declare required features in this annotation as well, for a provider that reads "
                  "it; for kindlb: kindlb.dev/required-load-balancer-features")
      ->type_name("NAME")
      ->group(kGroup);
  command
      .add_flag("--remove-leftovers", options.remove_leftovers,
                "Remove what earlier runs left behind, and exit")
      ->group(kGroup);
  add_workload_flags(command, settings.workload);
  constexpr const char* kResults = "Results";
  add_choice<bool>(command, "-o,--output", options.json, {{"table", false}, {"json", true}},
                   "The output format [table]")
      ->group(kResults);
  command
      .add_option("--junit", options.junit_file,
                  "Also write the results to this file, as JUnit XML")
      ->type_name("FILE")
      ->group(kResults);
  command.add_option("--json", options.json_file, "Also write the results to this file, as JSON")
      ->type_name("FILE")
      ->group(kResults);
}

}  // namespace kindlb::app
