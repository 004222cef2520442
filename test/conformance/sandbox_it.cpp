// The promise of `kindlb conformance` about kindlb itself, on any machine with an engine: against
// `kindlb sandbox` nothing fails, and what is skipped follows from what the profile lacks.

#include "kindlb/profile/profile.hpp"
#include "sandbox/sandbox_program.hpp"
#include "support/paths.hpp"
#include "support/servers/kube_server.hpp"
#include "test.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <map>
#include <set>

using namespace kindlb;
using core::Capabilities;
using core::MixedProtocols;
using it::SandboxProgram;
using Json = nlohmann::json;
using Names = std::set<std::string>;
using Words = SandboxProgram::Words;

namespace {
constexpr std::chrono::minutes kRunLimit{10};

bool mixes(const Capabilities& can) {
  return can.protocols.size() > 1 && can.mixed_protocols != MixedProtocols::None &&
         can.mixed_protocols_annotation.empty();
}

/// What a provider must be able to do for a test to pass. Tests that are not here are required of
/// all, whatever they can do.
bool can_pass(const std::string& test, const Capabilities& can) {
  using Needs = bool (*)(const Capabilities&);
  const Needs udp = [](const Capabilities& one) {
    return one.protocols.contains(core::Protocol::Udp);
  };
  const Needs affinity = [](const Capabilities& one) { return one.session_affinity; };
  const Needs source_ip = [](const Capabilities& one) { return one.preserves_source_ip; };
  static const std::map<std::string, Needs> kNeeds{
      {"without-node-ports", [](const Capabilities& one) { return one.direct_path; }},
      {"udp-type-and-ports", udp},
      {"udp-pod-cycle-other-node", udp},
      {"udp-pod-cycle-same-node", udp},
      {"local-source-ip", source_ip},
      {"local-from-pods-source-ip", source_ip},
      {"affinity-cluster", affinity},
      {"affinity-local", affinity},
      {"affinity-switch-cluster", affinity},
      {"affinity-switch-local", affinity},
      {"source-ranges", [](const Capabilities& one) { return one.source_ranges; }},
      {"dual-stack",
       [](const Capabilities& one) { return one.dual_stack && one.families.size() > 1; }},
      {"mixed-protocols", mixes},
      {"mixed-protocols-one-port",
       [](const Capabilities& one) {
         return mixes(one) && one.mixed_protocols == MixedProtocols::Any;
       }},
  };
  const auto found = kNeeds.find(test);
  return found == kNeeds.end() || found->second(can);
}

/// The sandbox has echo pods of its own and starts no others.
Names needing_own_pods() {
  Names out;
  for (const auto& test : conformance::all_tests())
    if (test.own_pods) out.insert(test.name);
  return out;
}

Names beyond(const Capabilities& can) {
  Names out;
  for (const auto& test : conformance::all_tests())
    if (!can_pass(test.name, can)) out.insert(test.name);
  return out;
}

/// So that a failure shows them.
std::string text_of(const Names& names) {
  std::string out;
  for (const auto& name : names) out += name + " ";
  return out;
}

struct Run {
  int code = -1;
  std::string log;
  Json report;
  std::string junit;

  Names with(const std::string& result) const {
    Names out;
    for (const auto& test : report.value("tests", Json::array()))
      if (test.value("result", "") == result) out.insert(test.value("name", ""));
    return out;
  }
  std::string reason(const std::string& name) const {
    for (const auto& test : report.value("tests", Json::array()))
      if (test.value("name", "") == name) return test.value("reason", "");
    return "(no such test)";
  }
};

/// A sandbox, and `kindlb conformance` against it.
class Trial {
 public:
  explicit Trial(const Words& sandbox_flags) {
    sandbox.start("sandbox", sandbox_flags);
    sandbox.await_up();
  }

  void start(const Words& flags) {
    Words words{test::program("kindlb"), "conformance"};
    const std::pair<const char*, std::string> usual[] = {
        {"--kubeconfig", sandbox.config()}, {"--workload-selector", "app=echo"},
        {"--workload-udp-port", "8080"},    {"--parallel", "6"},
        {"--json", file("report.json")},    {"--junit", file("report.xml")}};
    for (const auto& [flag, value] : usual)
      if (std::ranges::find(flags, flag) == flags.end()) words.insert(words.end(), {flag, value});
    words.insert(words.end(), flags.begin(), flags.end());
    program = std::make_unique<test::Child>(words, file("conformance.log"));
  }
  Run await_end() {
    const auto code = program->wait(kRunLimit);
    Run run{.code = code.value_or(-1),
            .log = log(),
            .report = Json::parse(it::read_text(file("report.json")), nullptr, false),
            .junit = it::read_text(file("report.xml"))};
    REQUIRE_MESSAGE(run.report.is_object(), run.log << "\n--- sandbox:\n" << sandbox.log());
    return run;
  }
  std::string log() const { return it::read_text(file("conformance.log")); }
  std::size_t services_left() const {
    const test::Rest rest(sandbox.client());
    return Json::parse(rest.get("/api/v1/services?labelSelector=kindlb.dev/conformance"))["items"]
        .size();
  }

  SandboxProgram sandbox;
  std::unique_ptr<test::Child> program;

 private:
  std::string file(const char* name) const { return (sandbox.folder / name).string(); }
};

Run run_against(const Words& sandbox_flags, const Words& flags = {}) {
  Trial trial(sandbox_flags);
  trial.start(flags);
  auto run = trial.await_end();
  CHECK(trial.services_left() == 0);
  return run;
}

/// All tests take a quarter of a minute per profile. Unless KINDLB_FULL is set, as by `make full`,
/// a profile is tested only for what kindlb can do and it cannot.
Names tests_for(const Capabilities& can) {
  Names all;
  Names lacking = beyond(can);
  for (const auto& test : conformance::all_tests()) {
    all.insert(test.name);
    if (!can_pass(test.name, {})) lacking.erase(test.name);
  }
  return lacking.empty() || std::getenv("KINDLB_FULL") != nullptr ? all : lacking;
}

std::string focus_on(const Names& names) {
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "^(" : "|") + name;
  return out + ")$";
}

void check_exactly(const Run& run, const Capabilities& can) {
  CAPTURE(run.log);
  CHECK(run.code == 0);
  CHECK(run.report.value("provider", "") == "with-conditions");
  CHECK(text_of(run.with("fail")) == "");
  CHECK(text_of(run.with("stopped")) == "");
  const auto tests = tests_for(can);
  const auto others = needing_own_pods();
  Names expected;
  for (const auto& test : tests)
    if (!can_pass(test, can) || others.contains(test)) expected.insert(test);
  const auto skipped = run.with("skip");
  CHECK(text_of(skipped) == text_of(expected));
  CHECK(run.with("pass").size() + skipped.size() == tests.size());
  for (const auto& name : skipped) {
    const auto* const why = others.contains(name) ? "--workload-selector" : "LoadBalancer";
    CHECK_MESSAGE(run.reason(name).find(why) != std::string::npos,
                  name << ": " << run.reason(name));
  }
}

/// Those that could differ: of profiles that lack the same, the first.
std::vector<profile::Profile> distinct_profiles() {
  std::vector<profile::Profile> out;
  for (const auto& one : profile::all_profiles())
    if (std::ranges::find(out, one.capabilities, &profile::Profile::capabilities) == out.end())
      out.push_back(one);
  return out;
}
}  // namespace

TEST_CASE("with every profile, exactly what it lacks is skipped") {
  for (const auto& profile : distinct_profiles()) {
    // Node ports lead nowhere in the sandbox.
    if (!profile.capabilities.direct_path) continue;
    CAPTURE(profile.name);
    // One proxy for all Services: it is there at once.
    check_exactly(run_against({"--profile", profile.name, "--services-per-proxy", "0"},
                              {"--focus", focus_on(tests_for(profile.capabilities))}),
                  profile.capabilities);
  }
}

TEST_CASE("a provider that needs node ports refuses to go without") {
  for (const auto& profile : distinct_profiles()) {
    if (profile.capabilities.direct_path) continue;
    CAPTURE(profile.name);
    const auto run =
        run_against({"--profile", profile.name}, {"--focus", "^(without-node-ports|unknown)"});
    CAPTURE(run.log);
    CHECK(run.code == 0);
    CHECK(text_of(run.with("skip")) == "without-node-ports ");
    CHECK(text_of(run.with("pass")) == "unknown-feature-refused ");
  }
}

TEST_CASE("strict: what is required of all is served all the same") {
  check_exactly(run_against({"--strict"}), {});
}

TEST_CASE("what the API lacks is not tested; degraded or refused is skipped alike") {
  const auto profile = *profile::find_profile("no-affinity");
  Words flags{"--profile", profile.name, "--feature-gates",
              "LoadBalancerStatusImprovements=false,ServiceLBClusterIPControl=false,"
              "ServiceLBHealthCheckNodePortControl=false"};
  std::string why = "SessionAffinityNotSupported";
  SUBCASE("degraded") {}
  SUBCASE("strict") {
    flags.emplace_back("--strict");
    why = "LoadBalancerServing=False/Unsupported";
  }
  const auto run =
      run_against(flags, {"--focus", "^(affinity-cluster|local-connects|unknown|without-[ch])"});
  CAPTURE(run.log);
  CHECK(run.code == 0);
  CHECK(text_of(run.with("pass")) == "local-connects ");
  CHECK(text_of(run.with("skip")) ==
        "affinity-cluster unknown-feature-refused without-cluster-ip without-health-check-port ");
  CHECK(run.reason("without-cluster-ip").find("lacks spec.allocateLoadBalancerClusterIP") !=
        std::string::npos);
  CHECK(run.reason("without-health-check-port").find("lacks spec.allocateLoadBalancerHCNodePort") !=
        std::string::npos);
  CHECK(run.reason("affinity-cluster").find(why) != std::string::npos);
  CHECK(run.reason("unknown-feature-refused").find("requiredLoadBalancerFeatures") !=
        std::string::npos);
}

TEST_CASE("what was skipped and why is in the files") {
  const auto run =
      run_against({"--profile", "tcp-only"}, {"--focus", "^(udp-type|local-connects)"});
  CAPTURE(run.log);
  CHECK(run.junit.find("tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"1\"") !=
        std::string::npos);
  CHECK(run.junit.find("<skipped message=\"LoadBalancerServing=False/Unsupported") !=
        std::string::npos);
  CHECK(run.report.value("pass", 0) == 1);
  CHECK(run.report.value("skip", 0) == 1);
}

TEST_CASE("Ctrl-C ends the tests, and what they made goes") {
  Trial trial({});
  trial.start({"--parallel", "1"});  // it takes a while
  // As soon as a test has a Service.
  trial.sandbox.await([&] {
    return trial.log().find("udp-type-and-ports: ") != std::string::npos ||
           !trial.program->running();
  });
  trial.program->signal(SIGINT);
  const auto run = trial.await_end();
  CAPTURE(run.log);
  CHECK(run.code == 1);
  CHECK(run.log.find("stopping: removing what the tests created") != std::string::npos);
  CHECK(run.with("stopped").contains("unknown-feature-refused"));
  CHECK(text_of(run.with("fail")) == "");
  CHECK(trial.services_left() == 0);
}

TEST_CASE("a second Ctrl-C leaves what the tests made, but not without results") {
  Trial trial({});
  const test::Rest rest(trial.sandbox.client());
  trial.start({"--focus", "^tcp-type-and-ports$"});
  // Somebody's finalizer keeps the Service, and with it the clean-up.
  std::string path;
  trial.sandbox.await([&] {
    const auto list =
        Json::parse(rest.get("/api/v1/services?labelSelector=kindlb.dev/conformance"));
    for (const auto& item : list["items"])
      if (const auto name = item["metadata"]["name"].get<std::string>();
          name.starts_with("tcp-type") && item["metadata"].contains("finalizers"))
        path = "/api/v1/namespaces/default/services/" + name;
    return !path.empty() || !trial.program->running();
  });
  REQUIRE_FALSE(path.empty());
  rest.patch(path, "json",
             R"([{"op":"add","path":"/metadata/finalizers/-","value":"example.com/keep"}])");
  trial.sandbox.await([&] {
    return trial.log().find("waiting for the deletion of") != std::string::npos ||
           !trial.program->running();
  });
  trial.program->signal(SIGINT);
  trial.sandbox.await([&] {
    return trial.log().find("stopping:") != std::string::npos || !trial.program->running();
  });
  trial.program->signal(SIGINT);
  const auto run = trial.await_end();
  CAPTURE(run.log);
  CHECK(run.code == 130);
  CHECK(run.log.find("--remove-leftovers") != std::string::npos);
  CHECK(text_of(run.with("pass")) == "tcp-type-and-ports ");
  CHECK(run.junit.ends_with("</testsuites>\n"));
  CHECK(trial.services_left() == 1);
}
