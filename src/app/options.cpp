#include "kindlb/app/options.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <map>

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
    "  kindlb cleanup                        remove what kindlb made\n"
    "  kubectl wait --for=condition=LoadBalancerServing service/web\n"
    "                                        wait until a Service really answers\n"
    "Flags of a command: kindlb COMMAND --help";

/// The definitions, and the places the parser fills.
class Definitions {
 public:
  Definitions() : app_(kIntroduction, "kindlb") {
    app_.require_subcommand(1);
    app_.footer(kExamples);
    add_run();
    app_.add_subcommand("version", "Print the version");
    add_cleanup();
    auto* completion = app_.add_subcommand("completion", "Print a shell completion script");
    completion->add_option("shell", options_.shell, "bash, zsh or fish")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  }

  CLI::App& app() { return app_; }

  Options take() {
    static const std::map<std::string, Command> kCommands = {{"run", Command::Run},
                                                             {"version", Command::Version},
                                                             {"cleanup", Command::Cleanup},
                                                             {"completion", Command::Completion}};
    options_.command = kCommands.at(app_.get_subcommands().front()->get_name());
    options_.single_cluster = !options_.kubeconfig.empty() || !options_.context.empty();
    if (!classes_.empty()) options_.policy.classes = classes_;
    return options_;
  }

 private:
  void add_run() {
    auto* run = app_.add_subcommand("run", "Serve Services of type LoadBalancer (the default)");
    run->footer("Ctrl-C stops kindlb within a second; the proxies go on serving (--on-exit).");
    add_cluster_flags(*run);
    add_service_flags(*run);
    add_proxy_flags(*run);
    add_common_flags(*run);
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
    static const std::map<std::string, core::Datapath> kPaths = {
        {"auto", core::Datapath::Auto},
        {"direct", core::Datapath::Direct},
        {"nodeport", core::Datapath::NodePort}};
    run.add_option("--load-balancer-class", classes_,
                   "Class of Services to serve besides those without one; repeatable "
                   "[kindlb.dev/envoy]")
        ->group(kGroup);
    run.add_flag("--require-class", options_.policy.require_class,
                 "Leave Services without a class to others")
        ->group(kGroup);
    run.add_flag("--strict", options_.policy.strict,
                 "Refuse a Service rather than serve it degraded")
        ->group(kGroup);
    run.add_option("--datapath", options_.policy.datapath,
                   "How proxies reach pods: direct, nodeport, or auto (direct where it gets "
                   "through) [auto]")
        ->transform(CLI::CheckedTransformer(kPaths).description(""))
        ->option_text("auto|direct|nodeport")
        ->group(kGroup);
  }

  void add_proxy_flags(CLI::App& run) {
    constexpr const char* kGroup = "Proxies";
    static const std::map<std::string, OnExit> kOnExit = {{"keep", OnExit::Keep},
                                                          {"delete", OnExit::Delete}};
    run.add_option("--warm-proxies", options_.warm_proxies,
                   "Proxies kept ready for new Services, per docker network")
        ->check(CLI::Range(0, 200).description(""))
        ->capture_default_str()
        ->group(kGroup);
    run.add_option("--envoy-image", options_.envoy_image, "Image that has Envoy")
        ->envname("KINDLB_ENVOY_IMAGE")
        ->capture_default_str()
        ->group(kGroup);
    run.add_option("--agent", options_.agent_binary,
                   "The kindlb-agent to put into proxies [beside kindlb]")
        ->group(kGroup);
    run.add_option("--on-exit", options_.on_exit,
                   "keep: proxies go on serving; delete: let every Service go first [keep]")
        ->transform(CLI::CheckedTransformer(kOnExit).description(""))
        ->option_text("keep|delete")
        ->group(kGroup);
  }

  void add_common_flags(CLI::App& command) {
    constexpr const char* kGroup = "Engine and logs";
    static const std::map<std::string, LogFormat> kFormats = {{"human", LogFormat::Human},
                                                              {"json", LogFormat::Json}};
    command
        .add_option("--docker-host", options_.docker_host,
                    "Docker engine: unix:///path or tcp://host:port [$DOCKER_HOST, else the "
                    "default socket]")
        ->group(kGroup);
    command.add_option("--log-level", options_.log_level, "error, warn, info or debug")
        ->check(CLI::IsMember({"error", "warn", "info", "debug"}).description(""))
        ->capture_default_str()
        ->group(kGroup);
    command.add_option("--log-format", options_.log_format, "How log lines look [human]")
        ->transform(CLI::CheckedTransformer(kFormats).description(""))
        ->option_text("human|json")
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
};

/// `kindlb --flag` means `kindlb run --flag`, but help and version are about the whole.
bool means_run(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return true;
  const auto& first = arguments.front();
  constexpr std::array kWhole = {"-h", "--help", "--version"};
  return first.starts_with("-") && std::find(kWhole.begin(), kWhole.end(), first) == kWhole.end();
}

Parsed mistake(std::string line) {
  std::replace(line.begin(), line.end(), '\n', ' ');
  return {std::nullopt, "kindlb: " + line + " (see kindlb --help)\n", 2};
}

}  // namespace

Parsed parse(const std::vector<std::string>& arguments) {
  auto words = arguments;
  if (means_run(words)) words.insert(words.begin(), "run");
  if (words.front() == "--version") words = {"version"};
  std::reverse(words.begin(), words.end());  // as CLI11 wants them
  Definitions definitions;
  try {
    definitions.app().parse(words);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = definitions.app().get_subcommands();
    return {std::nullopt, chosen.empty() ? definitions.app().help() : chosen.front()->help(), 0};
  } catch (const CLI::ParseError& error) {
    return mistake(error.what());
  }
  return {definitions.take(), "", 0};
}

namespace {

/// "run --a --b" per command, for the scripts below.
std::vector<std::pair<std::string, std::string>> words_by_command() {
  Definitions definitions;
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto* command : definitions.app().get_subcommands({})) {
    std::string flags;
    for (const auto* option : command->get_options())
      for (const auto& name : option->get_lnames()) flags += " --" + name;
    if (command->get_name() == "completion") flags += " bash zsh fish";
    out.emplace_back(command->get_name(), flags);
  }
  return out;
}

std::string bash_completion() {
  std::string names;
  std::string cases;
  for (const auto& [name, flags] : words_by_command()) {
    names += " " + name;
    cases += "    " + name + ") words=\"" + flags + "\" ;;\n";
  }
  return "_kindlb() {\n"
         "  local words cur=${COMP_WORDS[COMP_CWORD]}\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases + "    *) words=\"" + names +
         " --help\" ;;\n"
         "  esac\n"
         "  [ \"$COMP_CWORD\" -gt 1 ] || words=\"" +
         names +
         " --help\"\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
         "}\n"
         "complete -o default -F _kindlb kindlb\n";
}

std::string fish_completion() {
  std::string out = "complete -c kindlb -f\n";
  for (const auto& [name, flags] : words_by_command()) {
    out += "complete -c kindlb -n __fish_use_subcommand -a " + name + "\n";
    out += "complete -c kindlb -n '__fish_seen_subcommand_from " + name + "' -a '" + flags + "'\n";
  }
  return out;
}

}  // namespace

std::string completion_script(const std::string& shell) {
  if (shell == "fish") return fish_completion();
  if (shell == "zsh") return "autoload -U +X bashcompinit && bashcompinit\n" + bash_completion();
  return bash_completion();
}

}  // namespace kindlb::app
