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
    "  kindlb conformance --kubeconfig dev.yaml           all tests, whoever provides there\n"
    "  kindlb conformance --focus 'udp|mixed' --junit udp.xml\n"
    "  kindlb conformance --list                          the tests, and what may be refused\n"
    "  kindlb conformance --kubeconfig kindlb-sandbox.kubeconfig --workload-selector app=echo \\\n"
    "                     --workload-udp-port 8080        those that a kindlb sandbox can carry\n"
    "A test skips where the provider says that it does not support what is tested\n"
    "(LoadBalancerServing=False/Unsupported, or LoadBalancerDegraded for that very feature),\n"
    "and fails if every provider must support it. docs/conformance.md has the rules.\n"
    "Exit codes: 0 no test failed, 1 one failed or was cut short, 2 it could not begin\n"
    "or not write the results. Ctrl-C stops the tests and removes what they made; a second one "
    "ends\n"
    "at once (130), and --remove-leftovers removes it later.";

std::string check_focus(const std::string& text) {
  try {
    if (!conformance::list_tests(text).empty()) return "";
    return "no test has a name that matches '" + text + "'; --list shows them";
  } catch (const std::regex_error&) {
    return "'" + text + "' is no regular expression";
  }
}

std::string check_label(const std::string& text) {
  static const std::regex kLabel("[A-Za-z0-9][-A-Za-z0-9_./]*=[A-Za-z0-9][-A-Za-z0-9_.]*");
  if (std::regex_match(text, kLabel)) return "";
  return "'" + text + "' is no label; write name=value, for example app=echo";
}

/// Something is appended to it, and the whole must be a name of the API.
std::string check_prefix(const std::string& text) {
  static const std::regex kName("[a-z]([-a-z0-9]{0,48}[a-z0-9])?");
  if (std::regex_match(text, kName)) return "";
  return "'" + text + "' cannot begin a namespace's name; use up to 50 of a-z, 0-9 and -";
}

/// "30s", "10m"; a bare number counts seconds.
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
  return time_of(text) ? "" : "'" + text + "' is no time between 1s and 24h; write 45s, 10m or 1h";
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
      ->check(check_label)
      ->group(kGroup);
  command.add_option("--workload-namespace", workload.ns, "Where those pods are")
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--workload-port", workload.tcp_port,
                  "Their TCP port, which answers HTTP GET /hostname and /clientip")
      ->check(CLI::Range(1, 65535).description(""))
      ->capture_default_str()
      ->group(kGroup);
  command.add_option("--workload-udp-port", workload.udp_port, "Their UDP port, which answers")
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
  command.add_flag("--list", options.list, "Name the tests and leave")->group(kGroup);
  command
      .add_option("--focus", settings.focus, "Only tests whose names match this regular expression")
      ->check(check_focus)
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
      ->check(check_prefix)
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
