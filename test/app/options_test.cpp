#include "options.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace kindlb;
using app::Options;
using Words = std::vector<std::string>;

const Words kCommands = {"run",         "plan",    "sandbox", "demo",
                         "conformance", "version", "cleanup", "completion"};
const Words kRunFlags = {
    "--kubeconfig",    "--context",   "--network",      "--load-balancer-class",
    "--require-class", "--strict",    "--conditions",   "--ip-range",
    "--profile",       "--datapath",  "--warm-proxies", "--services-per-proxy",
    "--envoy-image",   "--agent",     "--on-exit",      "--docker-host",
    "--log-level",     "--log-format"};

const Words kPlanFlags = {
    "--filename",  "--cluster",  "--output",   "--exit-code",     "--profile",
    "--strict",    "--datapath", "--ip-range", "--require-class", "--load-balancer-class",
    "--conditions"};

const Words kSandboxFlags = {"--listen", "--kubeconfig-out", "--feature-gates", "--service-range",
                             "--tls",    "--state",          "--echo"};
const Words kDemoFlags = {"--script", "--pause", "--once"};

Options parsed(const Words& words) {
  const auto result = app::parse(words);
  REQUIRE_MESSAGE(result.options, result.text);
  return *result.options;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("no words at all mean run with the defaults") {
  const auto options = parsed({});
  CHECK(options.command == app::Command::Run);
  CHECK(options.kubeconfig.empty());
  CHECK(options.context.empty());
  CHECK_FALSE(options.single_cluster);
  CHECK(options.network == "kind");
  CHECK(options.policy.classes == Words{"kindlb.dev/envoy"});
  CHECK_FALSE(options.policy.require_class);
  CHECK_FALSE(options.policy.strict);
  CHECK(options.policy.conditions);
  CHECK(options.policy.datapath == core::Datapath::Auto);
  CHECK(options.policy.capabilities == core::Capabilities{});
  CHECK(options.warm_proxies == 2);
  CHECK(options.services_per_proxy == 1);
  CHECK(options.agent_binary.empty());
  CHECK(options.on_exit == app::OnExit::Keep);
  CHECK(options.docker_host.empty());
  CHECK(options.log_level == "info");
  CHECK(options.log_format == app::LogFormat::Human);
  CHECK_FALSE(options.assume_yes);
}

TEST_CASE("a flag counts more than its variable, whichever command has it") {
  const char* const before = std::getenv("KINDLB_ENVOY_IMAGE");
  const std::string kept = before == nullptr ? "" : before;
  setenv("KINDLB_ENVOY_IMAGE", "i:env", 1);
  CHECK(parsed({}).envoy_image == "i:env");
  CHECK(parsed({"run", "--envoy-image", "i:1"}).envoy_image == "i:1");
  CHECK(parsed({"sandbox", "--envoy-image", "i:1"}).envoy_image == "i:1");
  setenv("KINDLB_ENVOY_IMAGE", kept.c_str(), 1);
  CHECK(parsed({}).envoy_image == (kept.empty() ? Options{}.envoy_image : kept));
}

TEST_CASE("each flag lands where it belongs") {
  struct Case {
    const char* name;
    Words words;
    std::function<bool(const Options&)> holds;
  };
  const Case cases[] = {
      {"ip ranges",
       {"--ip-range", "172.18.9.0/24", "--ip-range", "fc00::10-fc00::1f"},
       [](const Options& o) {
         return o.policy.ip_ranges.size() == 2 &&
                o.policy.ip_ranges[0].text() == "172.18.9.0-172.18.9.255" &&
                o.policy.ip_ranges[1].text() == "fc00::10-fc00::1f";
       }},
      {"kubeconfig",
       {"--kubeconfig", "f"},
       [](const auto& o) { return o.kubeconfig == "f" && o.single_cluster; }},
      {"context",
       {"--context", "c"},
       [](const auto& o) { return o.context == "c" && o.single_cluster; }},
      {"network",
       {"--network", "n"},
       [](const auto& o) { return o.network == "n" && !o.single_cluster; }},
      {"one class",
       {"--load-balancer-class", "a/b"},
       [](const auto& o) { return o.policy.classes == Words{"a/b"}; }},
      {"two classes",
       {"--load-balancer-class", "a/b", "--load-balancer-class=c/d"},
       [](const auto& o) {
         return o.policy.classes == Words{"a/b", "c/d"};
       }},
      {"require class", {"--require-class"}, [](const auto& o) { return o.policy.require_class; }},
      {"strict", {"--strict"}, [](const auto& o) { return o.policy.strict; }},
      {"without conditions",
       {"--conditions", "off"},
       [](const auto& o) { return !o.policy.conditions; }},
      {"with conditions",
       {"--conditions", "on"},
       [](const auto& o) { return o.policy.conditions; }},
      {"datapath auto",
       {"--datapath", "auto"},
       [](const auto& o) { return o.policy.datapath == core::Datapath::Auto; }},
      {"datapath direct",
       {"--datapath", "direct"},
       [](const auto& o) { return o.policy.datapath == core::Datapath::Direct; }},
      {"datapath nodeport",
       {"--datapath=nodeport"},
       [](const auto& o) { return o.policy.datapath == core::Datapath::NodePort; }},
      {"profile",
       {"--profile", "gce"},
       [](const auto& o) {
         return o.policy.capabilities.mixed_protocols == core::MixedProtocols::None;
       }},
      {"plan",
       {"plan", "-f", "a.yaml", "-f", "-", "--filename=b"},
       [](const auto& o) {
         return o.command == app::Command::Plan && o.plan.files == Words{"a.yaml", "-", "b"} &&
                o.plan.format == app::PlanFormat::Text && !o.plan.exit_code;
       }},
      {"plan for elsewhere",
       {"plan", "-f", "a", "--cluster", "c.yaml", "-o", "json", "--exit-code", "--strict",
        "--profile=tcp-only", "--datapath", "nodeport"},
       [](const auto& o) {
         return o.plan.cluster == "c.yaml" && o.plan.format == app::PlanFormat::Json &&
                o.plan.exit_code && o.policy.strict &&
                o.policy.datapath == core::Datapath::NodePort &&
                o.policy.capabilities.protocols == std::set{core::Protocol::Tcp};
       }},
      {"plan as YAML",
       {"plan", "-f", "a", "--output=yaml"},
       [](const auto& o) { return o.plan.format == app::PlanFormat::Yaml; }},
      {"no warm proxies",
       {"--warm-proxies", "0"},
       [](const auto& o) { return o.warm_proxies == 0; }},
      {"shared proxies",
       {"--services-per-proxy", "0"},
       [](const auto& o) { return o.services_per_proxy == 0; }},
      {"many warm proxies",
       {"--warm-proxies", "200"},
       [](const auto& o) { return o.warm_proxies == 200; }},
      {"envoy image",
       {"--envoy-image", "i:1"},
       [](const auto& o) { return o.envoy_image == "i:1"; }},
      {"agent", {"--agent", "/a"}, [](const auto& o) { return o.agent_binary == "/a"; }},
      {"keep on exit",
       {"--on-exit", "keep"},
       [](const auto& o) { return o.on_exit == app::OnExit::Keep; }},
      {"delete on exit",
       {"--on-exit", "delete"},
       [](const auto& o) { return o.on_exit == app::OnExit::Delete; }},
      {"docker host",
       {"--docker-host", "unix:///s"},
       [](const auto& o) { return o.docker_host == "unix:///s"; }},
      {"log level", {"--log-level", "debug"}, [](const auto& o) { return o.log_level == "debug"; }},
      {"log format",
       {"--log-format", "json"},
       [](const auto& o) { return o.log_format == app::LogFormat::Json; }},
      {"the command may be named",
       {"run", "--strict"},
       [](const auto& o) { return o.command == app::Command::Run && o.policy.strict; }},
      {"version", {"version"}, [](const auto& o) { return o.command == app::Command::Version; }},
      {"version as a flag",
       {"--version"},
       [](const auto& o) { return o.command == app::Command::Version; }},
      {"sandbox",
       {"sandbox"},
       [](const auto& o) {
         return o.command == app::Command::Sandbox && o.sandbox.listen == "127.0.0.1:8474" &&
                o.sandbox.verb.empty();
       }},
      {"sandbox without Docker",
       {"sandbox", "--api-only", "--tls", "--state", "f", "--kubeconfig-out", "k"},
       [](const auto& o) {
         return o.sandbox.api_only && o.sandbox.tls && o.sandbox.state == "f" &&
                o.sandbox.kubeconfig_out == "k";
       }},
      {"sandbox scale",
       {"sandbox", "scale", "3", "--listen", "127.0.0.1:1"},
       [](const auto& o) {
         return o.sandbox.verb == "scale" && o.sandbox.argument == "3" &&
                o.sandbox.listen == "127.0.0.1:1";
       }},
      {"demo",
       {"demo"},
       [](const auto& o) {
         return o.command == app::Command::Demo && o.demo.script.empty() && !o.demo.once &&
                o.services_per_proxy == 0 && o.log_level == "error";
       }},
      {"demo with a proxy each",
       {"demo", "--services-per-proxy", "1", "--log-level", "info", "--once"},
       [](const auto& o) {
         return o.services_per_proxy == 1 && o.log_level == "info" && o.demo.once;
       }},
      {"demo as a story",
       {"demo", "--script", "conditions", "--pause", "3", "--listen", "127.0.0.1:1"},
       [](const auto& o) {
         return o.demo.script == "conditions" && o.demo.pause == 3 &&
                o.sandbox.listen == "127.0.0.1:1";
       }},
      {"cleanup",
       {"cleanup"},
       [](const auto& o) { return o.command == app::Command::Cleanup && !o.assume_yes; }},
      {"cleanup without asking",
       {"cleanup", "--yes"},
       [](const auto& o) { return o.command == app::Command::Cleanup && o.assume_yes; }},
      {"cleanup, in short", {"cleanup", "-y"}, [](const auto& o) { return o.assume_yes; }},
      {"cleanup elsewhere",
       {"cleanup", "--docker-host", "tcp://h:1"},
       [](const auto& o) { return o.docker_host == "tcp://h:1"; }},
      {"completion",
       {"completion", "fish"},
       [](const auto& o) { return o.command == app::Command::Completion && o.shell == "fish"; }},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      CHECK(c.holds(parsed(c.words)));
    }
  }
}

TEST_CASE("a mistake points to the help that is about it") {
  CHECK(
      app::parse({"conformance", "--nothing"}).text.ends_with("(see kindlb conformance --help)\n"));
  CHECK(app::parse({"plan"}).text.ends_with("(see kindlb plan --help)\n"));
  CHECK(app::parse({"--nothing"}).text.ends_with("(see kindlb run --help)\n"));
  CHECK(app::parse({"serve"}).text.ends_with("(see kindlb --help)\n"));
}

TEST_CASE("a mistake is told in one line that names it, with exit code 2") {
  struct Case {
    const char* name;
    Words words;
    const char* mentions;
  };
  const Case cases[] = {
      {"unknown flag", {"run", "--frobnicate"}, "--frobnicate"},
      {"unknown flag without a command", {"--frobnicate"}, "--frobnicate"},
      {"unknown command", {"serve"}, "serve"},
      {"unknown datapath", {"--datapath", "teleport"}, "teleport"},
      {"a range that is none", {"--ip-range", "172.18.0.9-172.18.0.1"}, "172.18.0.9-172.18.0.1"},
      {"unknown exit behaviour", {"--on-exit", "explode"}, "explode"},
      {"unknown log level", {"--log-level", "loud"}, "loud"},
      {"unknown log format", {"--log-format", "xml"}, "xml"},
      {"not a number", {"--warm-proxies", "many"}, "many"},
      {"less than none", {"--warm-proxies", "-1"}, "-1"},
      {"no such sharing", {"--services-per-proxy", "-1"}, "-1"},
      {"too many", {"--warm-proxies", "201"}, "201"},
      {"a value is missing", {"--network"}, "--network"},
      {"an unexpected word", {"run", "fast"}, "fast"},
      {"a shell is missing", {"completion"}, "shell"},
      {"unknown shell", {"completion", "csh"}, "csh"},
      {"unknown profile", {"--profile", "awz"}, "openstack"},
      {"a profile that is not there", {"--profile", "./nowhere.yaml"}, "nowhere.yaml"},
      {"nothing to plan", {"plan"}, "-f"},
      {"unknown output", {"plan", "-f", "a", "-o", "xml"}, "xml"},
      {"no such story", {"demo", "--script", "romance"}, "romance"},
      {"a pause between nothing", {"demo", "--pause", "3"}, "--script"},
      {"a demo with proxies that stay", {"demo", "--on-exit", "keep"}, "--on-exit"},
      {"a sandbox verb without its pod", {"sandbox", "kill"}, "pod"},
      {"a flag of another command", {"version", "--strict"}, "--strict"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const auto result = app::parse(c.words);
      REQUIRE_FALSE(result.options);
      CHECK(result.exit_code == 2);
      CHECK(result.text.starts_with("kindlb: "));
      CHECK(std::ranges::count(result.text, '\n') == 1);
      CHECK(result.text.ends_with("\n"));
      CHECK_MESSAGE(holds(result.text, c.mentions), result.text);
    }
  }
}

TEST_CASE("help names everything there is") {
  for (const char* flag : {"-h", "--help"}) {
    const auto whole = app::parse({flag});
    REQUIRE_FALSE(whole.options);
    CHECK(whole.exit_code == 0);
    for (const auto& command : kCommands) CHECK_MESSAGE(holds(whole.text, command), command);
  }
  const auto run = app::parse({"run", "--help"});
  CHECK(run.exit_code == 0);
  for (const auto& flag : kRunFlags) CHECK_MESSAGE(holds(run.text, flag), flag);
  for (const char* group : {"Clusters", "Services", "Proxies", "Engine and logs"})
    CHECK_MESSAGE(holds(run.text, group), group);
  const auto plan = app::parse({"plan", "--help"});
  CHECK(plan.exit_code == 0);
  for (const auto& flag : kPlanFlags) CHECK_MESSAGE(holds(plan.text, flag), flag);
  CHECK(holds(plan.text, "Examples:"));
  const auto sandbox = app::parse({"sandbox", "--help"});
  const auto demo = app::parse({"demo", "--help"});
  for (const auto& flag : kSandboxFlags) {
    CHECK_MESSAGE(holds(sandbox.text, flag), flag);
    CHECK_MESSAGE(holds(demo.text, flag), flag);
  }
  for (const auto& flag : kDemoFlags) CHECK_MESSAGE(holds(demo.text, flag), flag);
  for (const char* verb : {"scale", "kill", "ready", "unready", "--api-only"})
    CHECK_MESSAGE(holds(sandbox.text, verb), verb);
  const auto cleanup = app::parse({"cleanup", "--help"});
  CHECK(holds(cleanup.text, "--yes"));
  CHECK(holds(cleanup.text, "--docker-host"));
}

TEST_CASE("completion knows every command and every flag") {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    SUBCASE(shell.c_str()) {
      const auto script = app::completion_script(shell);
      for (const auto& command : kCommands) CHECK_MESSAGE(holds(script, command), command);
      for (const auto& flag : kRunFlags) CHECK_MESSAGE(holds(script, flag), flag);
      for (const auto& flag : kPlanFlags) CHECK_MESSAGE(holds(script, flag), flag);
      for (const auto& flag : kSandboxFlags) CHECK_MESSAGE(holds(script, flag), flag);
      for (const auto& flag : kDemoFlags) CHECK_MESSAGE(holds(script, flag), flag);
      for (const char* verb : {"scale", "kill", "unready", "conditions"})
        CHECK_MESSAGE(holds(script, verb), verb);
    }
  }
}

TEST_CASE("the profiles are listed and nothing else is done") {
  for (const Words& words : {Words{"--profile", "list"}, Words{"plan", "--profile", "list"}}) {
    const auto listed = app::parse(words);
    CHECK_FALSE(listed.options);
    CHECK(listed.exit_code == 0);
    CHECK(holds(listed.text, "\naws "));
  }
}
