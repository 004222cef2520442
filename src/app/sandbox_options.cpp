#include "flags.hpp"

namespace kindlb::app {

namespace {
/// Each verb takes one argument and --listen, which names the sandbox. The verb does not start one,
/// so it has none of the sandbox's other flags.
void add_verb(CLI::App& sandbox, const std::string& name, const std::string& what,
              const std::string& argument, const std::string& about, SandboxOptions& options) {
  auto* verb = sandbox.add_subcommand(name, what);
  verb->add_option(argument, options.argument, about)->type_name("")->required();
  verb->add_option("--listen", options.listen, "The address at which the sandbox listens")
      ->type_name("ADDRESS")
      ->capture_default_str();
  verb->callback([&options, name] { options.verb = name; });
}
}  // namespace

void add_sandbox_flags(CLI::App& command, SandboxOptions& options) {
  constexpr const char* kGroup = "Sandbox";
  command
      .add_option("--listen", options.listen,
                  "Where the API listens; every client that can connect may do anything")
      ->type_name("ADDRESS")
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--kubeconfig-out", options.kubeconfig_out,
                  "Where to write a kubeconfig; the file is complete as soon as it appears")
      ->type_name("FILE")
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--feature-gates", options.feature_gates,
                  "Switch API features off: ServiceLBClusterIPControl=false,...")
      ->type_name("GATES")
      ->group(kGroup);
  command
      .add_option("--service-range", options.service_ranges,
                  "Where cluster IPs come from; give it once, or once per family "
                  "[10.96.0.0/16 and fd00:10:96::/112]")
      ->type_name("PREFIX")
      ->allow_extra_args(false)
      ->group(kGroup);
  command
      .add_option("--state", options.state,
                  "Keep the API's objects in this file, and continue with them in the next run")
      ->type_name("FILE")
      ->group(kGroup);
  command
      .add_flag("--tls", options.tls,
                "Write an https URL and a certificate into the kubeconfig; plain HTTP is "
                "answered, too")
      ->group(kGroup);
  command
      .add_option("--echo", options.echo_binary,
                  "The kindlb-echo program that the pods run [beside kindlb]")
      ->type_name("FILE")
      ->group(kGroup);
}

void add_sandbox_verbs(CLI::App& sandbox, SandboxOptions& options) {
  sandbox.require_subcommand(0, 1);
  sandbox
      .add_flag("--api-only", options.api_only,
                "Run the API server alone, without Docker; nothing is served")
      ->group("Sandbox");
  constexpr const char* kPod = "The name of an echo pod; `kubectl get pods` lists them";
  add_verb(sandbox, "scale", "Run this many echo pods", "replicas", "From 0 to 50", options);
  add_verb(sandbox, "kill", "Kill a pod's container; it is started again after three seconds",
           "pod", kPod, options);
  add_verb(sandbox, "ready", "Put an unready pod back into its Services", "pod", kPod, options);
  add_verb(sandbox, "unready", "Take a pod out of its Services", "pod", kPod, options);
}

void add_demo_flags(CLI::App& demo, DemoOptions& options) {
  constexpr const char* kGroup = "Demo";
  auto* script =
      demo.add_option("--script", options.script,
                      "Play a script instead of showing the examples; there is one, conditions: "
                      "the life of a Service as its conditions show it (KEP-4631)")
          ->type_name("NAME")
          ->check([](const std::string& name) {
            return name == "conditions"
                       ? ""
                       : "unknown script '" + name + "'; the only one is conditions";
          })
          ->group(kGroup);
  demo.add_option("--pause", options.pause,
                  "The pause between the steps of a script [until Enter on a terminal, else none]")
      ->type_name("SECONDS")
      ->check(CLI::Range(0, 3600).description(""))
      ->needs(script)
      ->group(kGroup);
  demo.add_flag("--once", options.once, "Exit when everything has been shown, also on a terminal")
      ->group(kGroup);
}

}  // namespace kindlb::app
