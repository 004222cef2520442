#include "flags.hpp"

namespace kindlb::app {

namespace {
void add_verb(CLI::App& sandbox, const std::string& name, const std::string& what,
              const std::string& argument, SandboxOptions& options) {
  auto* verb = sandbox.add_subcommand(name, what);
  verb->add_option(argument, options.argument)->required();
  verb->add_option("--listen", options.listen, "Where the sandbox listens")->capture_default_str();
  verb->callback([&options, name] { options.verb = name; });
}
}  // namespace

void add_sandbox_flags(CLI::App& command, SandboxOptions& options) {
  constexpr const char* kGroup = "Sandbox";
  command
      .add_option("--listen", options.listen,
                  "Address and port of the API; anybody who reaches it may do everything")
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--kubeconfig-out", options.kubeconfig_out,
                  "Where to write a kubeconfig; it is complete when it appears")
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--feature-gates", options.feature_gates,
                  "Switch fields of the API off: ServiceLBClusterIPControl=false,...")
      ->group(kGroup);
  command
      .add_option("--service-range", options.service_ranges,
                  "Where cluster IPs come from; repeat with the other family for both "
                  "[10.96.0.0/16 and fd00:10:96::/112]")
      ->allow_extra_args(false)
      ->group(kGroup);
  command.add_option("--state", options.state, "File to keep the API's objects in from run to run")
      ->group(kGroup);
  command
      .add_flag("--tls", options.tls,
                "Write https and a certificate into the kubeconfig; plain HTTP is answered, too")
      ->group(kGroup);
  command.add_option("--echo", options.echo_binary, "The kindlb-echo to run [beside kindlb]")
      ->group(kGroup);
}

void add_sandbox_verbs(CLI::App& sandbox, SandboxOptions& options) {
  sandbox.require_subcommand(0, 1);
  sandbox.add_flag("--api-only", options.api_only, "The API alone: no Docker, nothing is served")
      ->group("Sandbox");
  add_verb(sandbox, "scale", "How many echo workloads there are", "replicas", options);
  add_verb(sandbox, "kill", "Kill a workload; it comes back after a moment", "pod", options);
  add_verb(sandbox, "ready", "Let a workload be ready again", "pod", options);
  add_verb(sandbox, "unready", "Take a workload out of its Services", "pod", options);
}

void add_demo_flags(CLI::App& demo, DemoOptions& options) {
  constexpr const char* kGroup = "Demo";
  auto* script =
      demo.add_option("--script", options.script,
                      "Walk through a story step by step instead; conditions: the life of a "
                      "Service as its conditions tell it (KEP-4631)")
          ->check([](const std::string& name) {
            return name == "conditions" ? "" : "there is only the script conditions, not " + name;
          })
          ->group(kGroup);
  demo.add_option("--pause", options.pause,
                  "Seconds between the steps of a script [on a terminal: until Enter]")
      ->check(CLI::Range(0, 3600).description(""))
      ->needs(script)
      ->group(kGroup);
  demo.add_flag("--once", options.once, "Leave when all has been shown, also on a terminal")
      ->group(kGroup);
}

}  // namespace kindlb::app
