#include "options.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

namespace {
using namespace kindlb;
using namespace std::chrono_literals;
using Words = std::vector<std::string>;

app::Options chosen(Words words) {
  words.insert(words.begin(), "conformance");
  const auto result = app::parse(words);
  REQUIRE_MESSAGE(result.options, result.text);
  return *result.options;
}
}  // namespace

TEST_CASE("conformance waits as long as the KEP says") {
  const auto options = chosen({});
  CHECK(options.command == app::Command::Conformance);
  const auto& settings = options.conformance.settings;
  CHECK(settings.limits.conditions == 30s);
  CHECK(settings.limits.provisioning == 10min);
  CHECK(settings.parallel == 2);
  CHECK(settings.workload.selector.empty());
  CHECK_FALSE(options.conformance.list);
  CHECK_FALSE(options.conformance.json);
}

TEST_CASE("conformance's flags land where they belong") {
  const auto options = chosen({"--kubeconfig",
                               "k",
                               "--context",
                               "c",
                               "--list",
                               "--focus",
                               "^udp",
                               "--parallel",
                               "4",
                               "--timeout",
                               "45s",
                               "--provision-timeout",
                               "2m",
                               "--image",
                               "i:1",
                               "--namespace-prefix",
                               "p",
                               "--junit",
                               "j.xml",
                               "--json",
                               "j.json",
                               "-o",
                               "json",
                               "--load-balancer-class",
                               "a/b",
                               "--features-annotation",
                               "a/f",
                               "--remove-leftovers"});
  CHECK(options.kubeconfig == "k");
  CHECK(options.context == "c");
  const auto& wanted = options.conformance;
  CHECK(wanted.list);
  CHECK(wanted.remove_leftovers);
  CHECK(wanted.json);
  CHECK(wanted.junit_file == "j.xml");
  CHECK(wanted.json_file == "j.json");
  const auto& settings = wanted.settings;
  CHECK(settings.focus == "^udp");
  CHECK(settings.parallel == 4);
  CHECK(settings.limits.conditions == 45s);
  CHECK(settings.limits.provisioning == 2min);
  CHECK(settings.namespace_prefix == "p");
  CHECK(settings.load_balancer_class == "a/b");
  CHECK(settings.features_annotation == "a/f");
  CHECK(settings.workload.image == "i:1");
}

TEST_CASE("conformance may use pods that are there") {
  const auto workload = chosen({"--workload-selector", "app=echo", "--workload-namespace", "n",
                                "--workload-port", "1", "--workload-udp-port", "2"})
                            .conformance.settings.workload;
  CHECK(workload.selector == "app=echo");
  CHECK(workload.ns == "n");
  CHECK(workload.tcp_port == 1);
  CHECK(workload.udp_port == 2);
}

TEST_CASE("conformance refuses what makes no sense") {
  for (const Words& words :
       {Words{"--focus", "("}, Words{"--focus", "no such test"}, Words{"--parallel", "0"},
        Words{"--timeout", "soon"}, Words{"--timeout", "0s"}, Words{"--timeout", "25h"},
        Words{"--timeout", "s"}, Words{"--timeout", ""}, Words{"--provision-timeout", "1d"},
        Words{"-o", "xml"}, Words{"--workload-port", "70000"}, Words{"--workload-port", "0"},
        Words{"--workload-selector", "app!=x"}, Words{"--workload-selector", "a=b,c=d"},
        Words{"--workload-selector", "app"}, Words{"--workload-selector", "=x"},
        Words{"--namespace-prefix", "A_b"}, Words{"--namespace-prefix", ""}}) {
    CAPTURE(words.back());
    auto all = words;
    all.insert(all.begin(), "conformance");
    const auto result = app::parse(all);
    CHECK_FALSE(result.options);
    CHECK(result.exit_code == 2);
    CHECK(result.text.find(words.front()) != std::string::npos);
  }
}
