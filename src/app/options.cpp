#include "options.hpp"

#include "command_words.hpp"
#include "flags.hpp"
#include "kindlb/profile/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <utility>

namespace kindlb::app {

namespace {

constexpr const char* kIntroduction =
    "Load balancers for kind clusters.\n"
    "Gives every Service of type LoadBalancer an address on the docker network, runs an Envoy\n"
    "proxy for it, and says in the Service's conditions how far that is true.";

constexpr const char* kExamples =
    "Examples:\n"
    "  kindlb                                serve every kind cluster of this engine\n"
    "  kindlb run --warm-proxies 8           keep more proxies ready for bursts of Services\n"
    "  kindlb run --kubeconfig dev.yaml --context dev --network kind\n"
    "                                        serve that one cluster\n"
    "  kindlb plan -f web.yaml --profile aws how would these Services fare, and why?\n"
    "  kindlb sandbox                        a session without a cluster\n"
    "  kindlb demo                           a session that shows what there is to see\n"
    "  kindlb conformance                    does this cluster's provider keep KEP-4631's rules?\n"
    "  kindlb cleanup                        remove what kindlb made\n"
    "  kubectl wait --for=condition=LoadBalancerServing service/web\n"
    "                                        wait until a Service really answers\n"
    "Flags of a command: kindlb COMMAND --help";

/// The definitions, and the places the parser fills.
class Definitions {
 public:
  Definitions() : app_(kIntroduction, "kindlb") {
    // Not CLI11's envname(): two commands have this flag, and the one that was not given would put
    // the variable's value over the flag of the other.
    const char* const image = std::getenv("KINDLB_ENVOY_IMAGE");  // NOLINT(concurrency-mt-unsafe)
    if (image != nullptr && *image != '\0') options_.envoy_image = image;
    app_.require_subcommand(1);
    app_.footer(kExamples);
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
  }

  CLI::App& app() { return app_; }
  bool knows(const std::string& command) const {
    const auto all = app_.get_subcommands([](const CLI::App*) { return true; });
    return std::any_of(all.begin(), all.end(),
                       [&](const CLI::App* one) { return one->get_name() == command; });
  }

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
    auto* run = app_.add_subcommand("run", "Serve Services of type LoadBalancer (the default)");
    run->footer("Ctrl-C stops kindlb within a second; the proxies go on serving (--on-exit).");
    add_cluster_flags(*run);
    add_service_flags(*run);
    add_proxy_flags(*run);
    add_choice<OnExit>(*run, "--on-exit", options_.on_exit,
                       {{"keep", OnExit::Keep}, {"delete", OnExit::Delete}},
                       "keep: proxies go on serving; delete: let every Service go first [keep]")
        ->group("Proxies");
    add_common_flags(*run);
  }

  void add_plan() {
    auto* plan = app_.add_subcommand(
        "plan", "Say what would become of Services in manifests; needs no cluster and no Docker");
    add_plan_flags(*plan, options_.plan);
    add_service_flags(*plan);
  }

  void add_sandbox() {
    auto* sandbox = app_.add_subcommand(
        "sandbox",
        "Try everything with Docker alone: an API server, workloads, and load balancers");
    sandbox->footer("Ctrl-C stops it and leaves nothing behind but the file of --state.");
    add_sandbox_flags(*sandbox, options_.sandbox);
    add_sandbox_verbs(*sandbox, options_.sandbox);
    add_service_flags(*sandbox);
    add_proxy_flags(*sandbox);
    add_common_flags(*sandbox);
  }

  void add_demo() {
    auto* demo = app_.add_subcommand(
        "demo", "Start a sandbox, serve the examples, and show what becomes of them");
    demo->footer(
        "All Services share a proxy, and only errors are logged, unless told otherwise.\n"
        "Ctrl-C stops it and leaves nothing behind but the file of --state.");
    add_demo_flags(*demo, options_.demo);
    add_sandbox_flags(*demo, options_.sandbox);
    add_service_flags(*demo);
    add_proxy_flags(*demo);
    add_common_flags(*demo);
  }

  /// Quick and quiet, unless told otherwise.
  void apply_demo_defaults(const CLI::App& demo) {
    if (demo.count("--services-per-proxy") == 0) options_.services_per_proxy = 0;
    if (demo.count("--log-level") == 0) options_.log_level = "error";
  }

  void add_conformance() {
    auto* command = app_.add_subcommand(
        "conformance", "Test whoever provides load balancers in a cluster, by KEP-4631's rules");
    constexpr const char* kGroup = "Cluster";
    command
        ->add_option("--kubeconfig", options_.kubeconfig,
                     "The cluster to test [$KUBECONFIG or ~/.kube/config]")
        ->group(kGroup);
    command
        ->add_option("--context", options_.context, "Context of the kubeconfig [its current one]")
        ->group(kGroup);
    add_conformance_flags(*command, options_.conformance);
  }

  void add_cluster_flags(CLI::App& run) {
    constexpr const char* kGroup = "Clusters";
    run.add_option("--kubeconfig", options_.kubeconfig,
                   "Serve only the cluster of this kubeconfig, instead of every kind cluster "
                   "($KUBECONFIG or ~/.kube/config with --context alone)")
        ->group(kGroup);
    run.add_option("--context", options_.context, "Context of the kubeconfig (its current one)")
        ->group(kGroup);
    run.add_option("--network", options_.network,
                   "With --kubeconfig or --context: the docker network for addresses and proxies")
        ->capture_default_str()
        ->group(kGroup);
  }

  void add_service_flags(CLI::App& run) {
    constexpr const char* kGroup = "Services";
    run.add_option("--load-balancer-class", classes_,
                   "Class of Services to serve besides those without one; repeatable "
                   "[kindlb.dev/envoy]")
        ->allow_extra_args(false)
        ->group(kGroup);
    run.add_flag("--require-class", options_.policy.require_class,
                 "Leave Services without a class to others")
        ->group(kGroup);
    run.add_flag("--strict", options_.policy.strict,
                 "Refuse a Service rather than serve it degraded")
        ->group(kGroup);
    run.add_option("--ip-range", ip_ranges_,
                   "Where new addresses come from: 172.18.200.0/24 or 172.18.200.1-172.18.200.9; "
                   "repeatable, per family [all of the docker network, from the top]")
        ->allow_extra_args(false)
        ->check([](const std::string& text) -> std::string {
          if (core::AddressRange::parse(text)) return "";
          return "'" + text +
                 "' is no range of addresses: write 172.18.200.0/24 or "
                 "172.18.200.1-172.18.200.9";
        })
        ->group(kGroup);
    run.add_option("--profile", options_.profile,
                   "Do no more than this provider could: a name, a file of your own, or list to "
                   "see the names [full]")
        ->group(kGroup);
    add_choice<core::Datapath>(run, "--datapath", options_.policy.datapath,
                               {{"auto", core::Datapath::Auto},
                                {"direct", core::Datapath::Direct},
                                {"nodeport", core::Datapath::NodePort}},
                               "How proxies reach pods: straight, through node ports, or auto: "
                               "straight where that gets through [auto]")
        ->group(kGroup);
  }

  void add_proxy_flags(CLI::App& run) {
    constexpr const char* kGroup = "Proxies";
    run.add_option("--warm-proxies", options_.warm_proxies,
                   "Proxies kept ready for new Services, per docker network")
        ->check(CLI::Range(0, 200).description(""))
        ->capture_default_str()
        ->group(kGroup);
    run.add_option("--services-per-proxy", options_.services_per_proxy,
                   "Services of a cluster that share a proxy; 0: as many as it can take")
        ->check(CLI::Range(0, 1000).description(""))
        ->capture_default_str()
        ->group(kGroup);
    run.add_option("--envoy-image", options_.envoy_image,
                   "Image that has Envoy; also $KINDLB_ENVOY_IMAGE")
        ->capture_default_str()
        ->group(kGroup);
    run.add_option("--agent", options_.agent_binary,
                   "The kindlb-agent to put into proxies [beside kindlb]")
        ->group(kGroup);
  }

  void add_common_flags(CLI::App& command) {
    constexpr const char* kGroup = "Engine and logs";
    command
        .add_option("--docker-host", options_.docker_host,
                    "Docker engine: unix:///path or tcp://host:port [$DOCKER_HOST, else the "
                    "default socket]")
        ->group(kGroup);
    add_choice<std::string>(
        command, "--log-level", options_.log_level,
        {{"error", "error"}, {"warn", "warn"}, {"info", "info"}, {"debug", "debug"}},
        "The least serious lines to print [info]")
        ->group(kGroup);
    add_choice<LogFormat>(command, "--log-format", options_.log_format,
                          {{"human", LogFormat::Human}, {"json", LogFormat::Json}},
                          "How log lines look [human]")
        ->group(kGroup);
  }

  void add_cleanup() {
    auto* cleanup = app_.add_subcommand(
        "cleanup", "Remove what kindlb made: proxies, volumes, images, and its marks on Services");
    cleanup->add_flag("-y,--yes", options_.assume_yes, "Do not ask");
    add_common_flags(*cleanup);
  }

  CLI::App app_;
  Options options_;
  std::vector<std::string> classes_;
  std::vector<std::string> ip_ranges_;
};

/// `kindlb --flag` means `kindlb run --flag`, but help and version are about the whole.
bool means_run(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return true;
  const auto& first = arguments.front();
  constexpr std::array kWhole = {"-h", "--help", "--version"};
  return first.starts_with("-") && std::find(kWhole.begin(), kWhole.end(), first) == kWhole.end();
}

/// `command`: whose help has more to say; empty: that of the whole.
Parsed usage_error(std::string line, const std::string& command) {
  std::replace(line.begin(), line.end(), '\n', ' ');
  const auto whose = command.empty() ? std::string("kindlb") : "kindlb " + command;
  return {std::nullopt, fmt::format("kindlb: {} (see {} --help)\n", line, whose), 2};
}

/// What needs more than the words themselves.
Parsed finish(Options options, const std::string& command) {
  if (options.profile == "list") return {std::nullopt, profile::list_profiles(), 0};
  if (options.command == Command::Plan && options.plan.files.empty())
    return usage_error(
        "plan needs something to read: -f FILE, -f FOLDER, or -f - for standard input", command);
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
  if (means_run(words)) words.insert(words.begin(), "run");
  if (words.front() == "--version") words = {"version"};
  Definitions definitions;
  if (!words.front().starts_with("-") && !definitions.knows(words.front()))
    return usage_error("there is no command '" + words.front() + "'", "");
  const auto command = words.front().starts_with("-") ? "" : words.front();
  std::reverse(words.begin(), words.end());  // as CLI11 wants them
  try {
    definitions.app().parse(words);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = definitions.app().get_subcommands();
    return {std::nullopt,
            chosen.empty() ? definitions.app().help() : chosen.front()->help("kindlb"), 0};
  } catch (const CLI::ParseError& error) {
    return usage_error(error.what(), command);
  }
  return finish(definitions.take(), command);
}

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
