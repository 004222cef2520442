#include "options.hpp"

#include "command_words.hpp"
#include "flags.hpp"
#include "kindlb/base/environment.hpp"
#include "kindlb/profile/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace kindlb::app {

namespace {

constexpr const char* kIntroduction =
    "Load balancers for kind clusters.\n"
    "kindlb gives every Service of type LoadBalancer an address on the docker network, serves it\n"
    "with an Envoy proxy, and reports its state in the Service's conditions (KEP-4631).";

constexpr const char* kExamples =
    "Examples:\n"
    "  kindlb                                 serve every kind cluster on this Docker engine\n"
    "  kindlb run --warm-proxies 8            keep more proxies ready for bursts of new Services\n"
    "  kindlb run --kubeconfig dev.yaml       serve only the cluster of this kubeconfig\n"
    "  kindlb plan -f web.yaml --profile aws  show what would happen to these Services on AWS\n"
    "  kindlb sandbox                         try load balancers without a cluster\n"
    "  kindlb demo                            watch the examples being served in a sandbox\n"
    "  kindlb conformance                     test the cluster's provider against KEP-4631\n"
    "  kindlb cleanup                         remove everything that kindlb created\n"
    "  kubectl wait --for=condition=LoadBalancerServing service/web\n"
    "                                         wait until a Service answers\n"
    "Run 'kindlb COMMAND --help' for the flags of a command.";

constexpr const char* kSandboxEnd =
    "Ctrl-C stops it and removes everything it created, except for the file of --state.";

/// Defaults of the demo that differ from those of `kindlb run`: one proxy starts faster than
/// dozens, and log lines would disturb the picture.
constexpr std::size_t kDemoServicesPerProxy = 0;
constexpr const char* kDemoLogLevel = "error";

/// The definitions of all commands and flags, and the Options that the parser fills. CLI11 keeps
/// pointers into options_, so an object stays where it was constructed.
class Definitions {
 public:
  Definitions() : app_(kIntroduction, "kindlb") {
    // Not CLI11's envname(): several commands have this flag and share its target, and CLI11 would
    // apply the variable for the commands that were not given, over the flag of the one that was.
    if (const auto image = base::environment("KINDLB_ENVOY_IMAGE"); !image.empty())
      options_.envoy_image = image;
    app_.require_subcommand(1);
    add_run();
    add_plan();
    add_sandbox();
    add_demo();
    add_conformance();
    app_.add_subcommand("version", "Print the version");
    add_cleanup();
    auto* completion = app_.add_subcommand("completion", "Print a shell completion script");
    completion->add_option("shell", options_.shell, "bash, zsh or fish")
        ->required()
        ->check([](const std::string& shell) {
          const bool known = shell == "bash" || shell == "zsh" || shell == "fish";
          return known ? "" : "the shell must be bash, zsh or fish, not " + shell;
        });
    completion->footer("Example: source <(kindlb completion bash)");
    // Last, because a command inherits the footer that exists when it is added.
    app_.footer(kExamples);
  }

  CLI::App& app() { return app_; }
  bool knows(const std::string& command) const {
    const auto all = app_.get_subcommands([](const CLI::App*) { return true; });
    return std::any_of(all.begin(), all.end(),
                       [&](const CLI::App* one) { return one->get_name() == command; });
  }

  /// Return the options after a successful parse. Values that derive from several flags are set
  /// here, because CLI11 calls back per flag, in no useful order.
  Options take() {
    static const std::map<std::string, Command> kCommands = {{"run", Command::Run},
                                                             {"plan", Command::Plan},
                                                             {"sandbox", Command::Sandbox},
                                                             {"demo", Command::Demo},
                                                             {"conformance", Command::Conformance},
                                                             {"version", Command::Version},
                                                             {"cleanup", Command::Cleanup},
                                                             {"completion", Command::Completion}};
    const auto* chosen = app_.get_subcommands().front();
    options_.command = kCommands.at(chosen->get_name());
    if (options_.command == Command::Demo) apply_demo_defaults(*chosen);
    options_.single_cluster = !options_.kubeconfig.empty() || !options_.context.empty();
    if (!classes_.empty()) options_.policy.classes = classes_;
    for (const auto& range : ip_ranges_)
      options_.policy.ip_ranges.push_back(*core::AddressRange::parse(range));
    return options_;
  }

 private:
  void add_run() {
    auto* run =
        app_.add_subcommand("run", "Serve Services of type LoadBalancer (the default command)");
    run->footer(
        "Ctrl-C stops kindlb within a second. The proxies go on serving unless --on-exit delete\n"
        "is given, and the next kindlb takes them over.");
    add_cluster_flags(*run);
    add_service_flags(*run);
    add_proxy_flags(*run);
    add_choice<OnExit>(*run, "--on-exit", options_.on_exit,
                       {{"keep", OnExit::Keep}, {"delete", OnExit::Delete}},
                       "keep: the proxies go on serving; delete: remove every load balancer "
                       "first [keep]")
        ->group("Proxies");
    add_common_flags(*run);
  }

  void add_plan() {
    auto* plan = app_.add_subcommand(
        "plan", "Show what would happen to the Services in manifests, without cluster or Docker");
    add_plan_flags(*plan, options_.plan);
    add_service_flags(*plan);
  }

  void add_sandbox() {
    auto* sandbox = app_.add_subcommand(
        "sandbox", "Run an API server, echo pods and load balancers with nothing but Docker");
    add_sandbox_flags(*sandbox, options_.sandbox);
    add_sandbox_verbs(*sandbox, options_.sandbox);
    add_service_flags(*sandbox);
    add_proxy_flags(*sandbox);
    add_common_flags(*sandbox);
    sandbox->footer(
        std::string("Examples:\n"
                    "  kindlb sandbox --profile gce   behave like GCE's load balancers\n"
                    "  kindlb sandbox scale 3         in another terminal: run 3 pods\n") +
        kSandboxEnd);
  }

  void add_demo() {
    auto* demo = app_.add_subcommand(
        "demo", "Start a sandbox, apply the examples, and show what happens to them");
    demo->footer(std::string("Examples:\n"
                             "  kindlb demo                       all examples in one table\n"
                             "  kindlb demo --script conditions   one Service, step by step\n") +
                 kSandboxEnd);
    add_demo_flags(*demo, options_.demo);
    add_sandbox_flags(*demo, options_.sandbox);
    add_service_flags(*demo);
    add_proxy_flags(*demo);
    add_common_flags(*demo, kDemoLogLevel);
    demo->get_option("--services-per-proxy")->default_str(std::to_string(kDemoServicesPerProxy));
  }

  /// The commands share options_, so a default of one command is set after parsing.
  void apply_demo_defaults(const CLI::App& demo) {
    if (demo.count("--services-per-proxy") == 0)
      options_.services_per_proxy = kDemoServicesPerProxy;
    if (demo.count("--log-level") == 0) options_.log_level = kDemoLogLevel;
  }

  void add_conformance() {
    auto* command = app_.add_subcommand(
        "conformance", "Test a cluster's load-balancer provider against the rules of KEP-4631");
    constexpr const char* kGroup = "Cluster";
    command
        ->add_option("--kubeconfig", options_.kubeconfig,
                     "The kubeconfig of the cluster to test [$KUBECONFIG or ~/.kube/config]")
        ->type_name("FILE")
        ->group(kGroup);
    command
        ->add_option("--context", options_.context,
                     "The context of the kubeconfig [the current one]")
        ->type_name("NAME")
        ->group(kGroup);
    add_conformance_flags(*command, options_.conformance);
  }

  void add_cluster_flags(CLI::App& run) {
    constexpr const char* kGroup = "Clusters";
    run.add_option("--kubeconfig", options_.kubeconfig,
                   "Serve only the cluster of this kubeconfig, instead of every kind cluster")
        ->type_name("FILE")
        ->group(kGroup);
    run.add_option(
           "--context", options_.context,
           "Serve only the cluster of this context; without --kubeconfig it is looked up in "
           "$KUBECONFIG or ~/.kube/config [the current one]")
        ->type_name("NAME")
        ->group(kGroup);
    run.add_option("--network", options_.network,
                   "With --kubeconfig or --context: the docker network for addresses and proxies")
        ->type_name("NAME")
        ->capture_default_str()
        ->group(kGroup);
  }

  /// What decides about Services; plan, run, sandbox and demo have to agree on it.
  void add_service_flags(CLI::App& run) {
    constexpr const char* kGroup = "Services";
    run.add_option("--load-balancer-class", classes_,
                   "A class to serve besides Services without one; repeatable [kindlb.dev/envoy]")
        ->type_name("CLASS")
        ->allow_extra_args(false)
        ->group(kGroup);
    run.add_flag("--require-class", options_.policy.require_class,
                 "Ignore Services without a class")
        ->group(kGroup);
    run.add_flag("--strict", options_.policy.strict,
                 "Refuse a Service rather than serve it degraded")
        ->group(kGroup);
    add_choice<bool>(
        run, "--conditions", options_.policy.conditions, {{"on", true}, {"off", false}},
        "Whether to report in the conditions of KEP-4631; off removes those that kindlb "
        "wrote [on]")
        ->group(kGroup);
    run.add_option("--ip-range", ip_ranges_,
                   "Where new addresses come from: 172.18.200.0/24 or 172.18.200.1-172.18.200.9; "
                   "repeatable, per family [all of the docker network, from the top]")
        ->type_name("RANGE")
        ->allow_extra_args(false)
        ->check([](const std::string& text) -> std::string {
          if (core::AddressRange::parse(text)) return "";
          return "'" + text +
                 "' is not an address range; write 172.18.200.0/24 or 172.18.200.1-172.18.200.9";
        })
        ->group(kGroup);
    run.add_option("--profile", options_.profile,
                   "Do no more than this provider could: a name, a file (./mine.yaml), or list to "
                   "print the names [full]")
        ->type_name("NAME")
        ->group(kGroup);
    add_choice<core::Datapath>(run, "--datapath", options_.policy.datapath,
                               {{"auto", core::Datapath::Auto},
                                {"direct", core::Datapath::Direct},
                                {"nodeport", core::Datapath::NodePort}},
                               "How proxies reach pods: directly, through node ports, or auto: "
                               "directly where that works [auto]")
        ->group(kGroup);
  }

  /// What needs an engine: everything but plan.
  void add_proxy_flags(CLI::App& run) {
    constexpr const char* kGroup = "Proxies";
    run.add_option("--warm-proxies", options_.warm_proxies,
                   "How many proxies to keep ready for new Services, per docker network")
        ->type_name("N")
        ->check(CLI::Range(0, 200).description(""))
        ->capture_default_str()
        ->group(kGroup);
    run.add_option("--services-per-proxy", options_.services_per_proxy,
                   "How many Services of one cluster may share a proxy; 0: as many as it can take")
        ->type_name("N")
        ->check(CLI::Range(0, 1000).description(""))
        ->capture_default_str()
        ->group(kGroup);
    run.add_option("--envoy-image", options_.envoy_image,
                   "The image that contains Envoy; also $KINDLB_ENVOY_IMAGE")
        ->type_name("IMAGE")
        ->capture_default_str()
        ->group(kGroup);
    run.add_option("--agent", options_.agent_binary,
                   "The kindlb-agent program to put into proxies [beside kindlb]")
        ->type_name("FILE")
        ->group(kGroup);
  }

  void add_common_flags(CLI::App& command, const std::string& default_level = "info") {
    constexpr const char* kGroup = "Engine and logs";
    command
        .add_option("--docker-host", options_.docker_host,
                    "The Docker engine: unix:///path or tcp://host:port [$DOCKER_HOST, else the "
                    "default socket]")
        ->type_name("URL")
        ->group(kGroup);
    add_choice<std::string>(
        command, "--log-level", options_.log_level,
        {{"error", "error"}, {"warn", "warn"}, {"info", "info"}, {"debug", "debug"}},
        "The least severe level to log [" + default_level + "]")
        ->group(kGroup);
    add_choice<LogFormat>(command, "--log-format", options_.log_format,
                          {{"human", LogFormat::Human}, {"json", LogFormat::Json}},
                          "The format of log lines [human]")
        ->group(kGroup);
  }

  void add_cleanup() {
    auto* cleanup = app_.add_subcommand(
        "cleanup", "Remove everything that kindlb created, and release its Services");
    cleanup->add_flag("-y,--yes", options_.assume_yes,
                      "Do not ask; required where standard input is not a terminal");
    add_common_flags(*cleanup);
    cleanup->footer(
        "Removes proxies, volumes, images and sandboxes from this engine, and kindlb's finalizer\n"
        "and status from the Services of the kind clusters that answer. Stop kindlb first.");
  }

  CLI::App app_;
  Options options_;
  std::vector<std::string> classes_;
  std::vector<std::string> ip_ranges_;
};

/// `kindlb --flag` means `kindlb run --flag`, except for --help and --version.
bool means_run(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return true;
  const auto& first = arguments.front();
  constexpr std::array kGlobal = {"-h", "--help", "--version"};
  return first.starts_with("-") &&
         std::find(kGlobal.begin(), kGlobal.end(), first) == kGlobal.end();
}

/// Return the one-line error for a wrong command line, with the command whose help explains more;
/// empty: kindlb itself.
Parsed usage_error(std::string line, const std::string& command) {
  std::replace(line.begin(), line.end(), '\n', ' ');
  const auto program = command.empty() ? std::string("kindlb") : "kindlb " + command;
  return {std::nullopt, fmt::format("kindlb: {} (see {} --help)\n", line, program), 2};
}

/// Do the checks that need more than single flags, and load the profile.
Parsed finish(Options options, const std::string& command) {
  if (options.profile == "list") return {std::nullopt, profile::list_profiles(), 0};
  if (options.command == Command::Plan && options.plan.files.empty())
    return usage_error("plan needs input: -f FILE, -f FOLDER, or -f - for standard input", command);
  auto chosen = profile::load_profile(options.profile);
  if (!chosen.ok())
    return usage_error("--profile: " + chosen.error().operation + ": " + chosen.error().detail,
                       command);
  options.policy.capabilities = std::move(chosen->capabilities);
  return {std::move(options), "", 0};
}

}  // namespace

Parsed parse(const std::vector<std::string>& arguments) {
  auto words = arguments;
  // CLI11 has no default command: an implied `run` is made explicit, and an unknown command is
  // found here, since CLI11 would report it as an unexpected argument.
  if (means_run(words)) words.insert(words.begin(), "run");
  if (words.front() == "--version") words = {"version"};
  Definitions definitions;
  if (!words.front().starts_with("-") && !definitions.knows(words.front()))
    return usage_error("unknown command '" + words.front() + "'", "");
  const auto command = words.front().starts_with("-") ? "" : words.front();
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
  try {
    definitions.app().parse(words);
    // CLI11 reports by exceptions, which end here.
  } catch (const CLI::CallForHelp&) {
    const auto chosen = definitions.app().get_subcommands();
    return {std::nullopt,
            chosen.empty() ? definitions.app().help() : chosen.front()->help("kindlb"), 0};
  } catch (const CLI::ParseError& error) {
    return usage_error(error.what(), command);
  }
  return finish(definitions.take(), command);
}

/// Values with a fixed set of words (shells, scripts) are offered along with the flags.
std::vector<CommandWords> command_words() {
  Definitions definitions;
  std::vector<CommandWords> out;
  for (const auto* command : definitions.app().get_subcommands({})) {
    std::string flags;
    for (const auto* option : command->get_options())
      for (const auto& name : option->get_lnames()) flags += " --" + name;
    for (const auto* verb : command->get_subcommands({})) flags += " " + verb->get_name();
    if (command->get_name() == "completion") flags += " bash zsh fish";
    if (command->get_name() == "demo") flags += " conditions";
    out.push_back({command->get_name(), flags});
  }
  return out;
}

}  // namespace kindlb::app
