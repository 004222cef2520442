// `kindlb plan` through the real binary: what it prints, what it complains about, how it ends.
// Needs no engine and no cluster.
#include "kindlb/profile/profile.hpp"
#include "support/golden.hpp"
#include "support/paths.hpp"
#include "support/servers/child.hpp"
#include "support/temp_folder.hpp"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace {

using namespace kindlb;
namespace fs = std::filesystem;

const std::string kFixtures = test::source_dir() + "/test/app/fixtures";

std::string contents(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

/// `arguments` as a shell would read them, so that they may redirect the input.
Outcome kindlb_in(const test::TempFolder& folder, const std::string& arguments) {
  const auto command = "cd " + (folder / "") + "; export SOURCE_DATE_EPOCH=1767225600; exec " +
                       test::program("kindlb") + " " + arguments + " >out.txt 2>err.txt";
  test::Child child({"/bin/sh", "-c", command}, folder / "shell.txt");
  const auto code = child.wait(std::chrono::seconds(60));
  REQUIRE_MESSAGE(code.has_value(), "it did not end");
  return {*code, contents(folder / "out.txt"), contents(folder / "err.txt")};
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The processor's time of those that have ended: other tests run beside this one, and what those
/// take from the clock says nothing about us.
std::chrono::milliseconds time_of_children() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto of = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  return std::chrono::duration_cast<std::chrono::milliseconds>(of(usage.ru_utime) +
                                                               of(usage.ru_stime));
}

/// The one block of that language on a page of ours.
std::string example(const std::string& page) {
  const auto text = contents(test::source_dir() + "/docs/" + page);
  const auto begin = text.find("```yaml\n");
  REQUIRE(begin != std::string::npos);
  return text.substr(begin + 8, text.find("```", begin + 8) - begin - 8);
}

/// Without what is inside Envoy's resources: those have goldens of their own.
std::string without_resources(const std::string& text) {
  std::istringstream in(text);
  std::string out;
  auto envoy = std::string::npos;  // how far the key is indented whose content this is
  for (std::string line; std::getline(in, line);) {
    const auto indent = line.find_first_not_of(' ');
    if (envoy != std::string::npos && indent <= envoy) envoy = std::string::npos;
    const bool inside = envoy != std::string::npos;
    if (!inside || (indent <= envoy + 2 && line[indent] != '-')) out += line + "\n";
    if (line.find("envoy\": {") != std::string::npos || line.ends_with(" envoy:")) envoy = indent;
  }
  return out;
}

const std::string kWeb =
    "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"
    "spec: {type: LoadBalancer, ports: [{port: 80}]}\n";

/// A manifest of Services, each with its EndpointSlice.
std::string many_services(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    const auto name = "svc-" + std::to_string(i);
    const auto address = "10.244." + std::to_string(i / 250) + "." + std::to_string(i % 250 + 1);
    text += "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: " + name +
            "\nspec:\n  type: LoadBalancer\n  ipFamilyPolicy: PreferDualStack\n"
            "  selector:\n    app: web\n  ports:\n  - name: http\n    port: 80\n"
            "    targetPort: 8080\n  - name: dns\n    port: 53\n    protocol: UDP\n"
            "---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata:\n  name: " +
            name + "\n  labels:\n    kubernetes.io/service-name: " + name +
            "\naddressType: IPv4\nports:\n- name: http\n  port: 8080\nendpoints:\n- addresses: [" +
            address + "]\n  nodeName: kind-control-plane\n";
  }
  return text;
}

/// Return the processor time that it takes to plan so many: the best of three, on a busy machine.
std::chrono::milliseconds time_to_plan(int count) {
  const test::TempFolder folder;
  folder.write("many.yaml", many_services(count));
  auto best = std::chrono::milliseconds::max();
  for (int i = 0; i < 3; ++i) {
    const auto before = time_of_children();
    const auto outcome = kindlb_in(folder, "plan -f many.yaml -o json");
    best = std::min(best, time_of_children() - before);
    CHECK(outcome.code == 0);
    CHECK(holds(outcome.out, "\"default/svc-" + std::to_string(count - 1) + "\""));
  }
  return best;
}

}  // namespace

TEST_CASE("what is printed for one Service of each fate") {
  const test::TempFolder folder;
  folder.write("facts.yaml", example("plan.md"));
  const auto shown = kindlb_in(folder, "plan -f " + kFixtures + "/shop.yaml --cluster facts.yaml");
  CHECK(shown.code == 0);
  CHECK(shown.err == "");
  CHECK(testing::golden_difference("plan/shop.text", shown.out) == "");
}

TEST_CASE("what is printed for machines") {
  const test::TempFolder folder;
  for (const std::string format : {"json", "yaml"}) {
    const auto shown = kindlb_in(folder, "plan -f " + kFixtures + "/small.yaml -o " + format);
    CHECK(shown.code == 0);
    CHECK(shown.err == "");
    CHECK(testing::golden_difference("plan/small." + format, without_resources(shown.out)) == "");
  }
}

TEST_CASE("a profile changes the fate, and --strict refuses what it degrades") {
  const test::TempFolder folder;
  const auto common = "plan -f " + kFixtures + "/shop.yaml ";
  CHECK(holds(kindlb_in(folder, common).out, "default/dns: serve\n"));
  const auto aws = kindlb_in(folder, common + "--profile aws");
  CHECK(holds(aws.out, "default/dns: degrade\n"));
  CHECK(holds(aws.out, "UDP/53 is not opened (kindlb.dev/PortsNotSupported)"));
  CHECK(holds(kindlb_in(folder, common + "--profile aws --strict").out, "default/dns: refuse\n"));
  folder.write("mine.yaml", example("profiles.md"));
  CHECK(holds(kindlb_in(folder, common + "--profile mine.yaml").out, "shop/web: degrade\n"));
}

TEST_CASE("classes decide whose Service it is") {
  const test::TempFolder folder;
  const auto common = "plan -f " + kFixtures + "/shop.yaml ";
  CHECK(holds(kindlb_in(folder, common + "--load-balancer-class example.com/lb").out,
              "default/elsewhere: serve\n"));
  const auto required = kindlb_in(folder, common + "--require-class");
  CHECK(holds(required.out, "shop/web: ignore\n"));
  CHECK(holds(required.out, "--require-class"));
}

TEST_CASE("standard input, folders and several files") {
  const test::TempFolder folder;
  folder.write("in/b.yml", kWeb);
  folder.write("in/a.json", R"({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"},
                                "spec": {"type": "LoadBalancer", "ports": [{"port": 1}]}})");
  folder.write("in/notes.txt", "not: [a manifest");
  folder.write("in/deeper/c.yaml", "not: [read");
  const auto both = kindlb_in(folder, "plan -f in");
  CHECK(both.code == 0);
  CHECK(both.out.find("default/a: serve") < both.out.find("default/web: serve"));
  CHECK(holds(both.out, "2 Services: 2 serve"));
  CHECK(kindlb_in(folder, "plan -f in/a.json --filename=in/b.yml").out == both.out);
  CHECK(holds(kindlb_in(folder, "plan -f - <in/b.yml").out, "1 Service: 1 serve"));
}

TEST_CASE("other kinds are passed over with a note") {
  const test::TempFolder folder;
  folder.write("f.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n---\n" + kWeb);
  const auto outcome = kindlb_in(folder, "plan -f f.yaml");
  CHECK(outcome.code == 0);
  CHECK(outcome.err == "kindlb: f.yaml:1:1: v1 ConfigMap c is ignored\n");
  folder.write("empty.yaml", "");
  const auto empty = kindlb_in(folder, "plan -f empty.yaml -o json");
  CHECK(empty.code == 0);
  CHECK(empty.out == "{\n  \"items\": []\n}\n");
  CHECK(empty.err == "kindlb: the input has no Service\n");
}

TEST_CASE("exit codes for scripts") {
  const test::TempFolder folder;
  folder.write("good.yaml", kWeb);
  CHECK(kindlb_in(folder, "plan -f good.yaml --exit-code").code == 0);
  const auto all = "plan -f " + kFixtures + "/shop.yaml ";
  CHECK(kindlb_in(folder, all).code == 0);
  CHECK(kindlb_in(folder, all + "--exit-code").code == 1);
  folder.write("full.yaml", "network: {subnets: [172.18.0.0/30]}\nipFamilies: [IPv4]\n");
  const auto exhausted = kindlb_in(folder, "plan -f good.yaml --cluster full.yaml --exit-code");
  CHECK(exhausted.code == 1);
  CHECK(holds(exhausted.out, "1 would not work here"));
}

TEST_CASE("what people get wrong is one line, and exit code 2") {
  const test::TempFolder folder;
  folder.write("good.yaml", kWeb);
  folder.write("bad.yaml", "a: [\n");
  folder.write(
      "port.yaml",
      "apiVersion: v1\nkind: Service\nmetadata: {name: w}\nspec:\n  ports:\n  - port: x\n");
  folder.write("facts.yaml", "networks: {}\n");
  folder.write("named.yaml",
               "apiVersion: v1\nkind: Service\nmetadata: {name: w}\n"
               "spec: {type: LoadBalancer, ports: [{port: 1, targetPort: http}]}\n");
  folder.write("brief.yaml", "endpoints:\n- {service: w, addresses: [10.244.0.5]}\n");
  folder.write("nothing/readme.txt", "");
  struct Case {
    const char* arguments;
    const char* begins;
    const char* mentions;
  };
  const Case cases[] = {
      {"plan", "plan needs input", "-f"},
      {"plan -f nowhere.yaml", "nowhere.yaml: ", "No such file"},
      {"plan -f nothing", "nothing: ", ".yaml"},
      {"plan -f bad.yaml", "bad.yaml:2:", ""},
      {"plan -f - <bad.yaml", "<stdin>:2:", ""},
      {"plan -f port.yaml", "port.yaml:6:11: spec.ports[0].port: not a port number", ""},
      {"plan -f good.yaml -f good.yaml", "good.yaml:1:1: Service default/web is also at good.yaml",
       ""},
      {"plan -f good.yaml --cluster facts.yaml", "facts.yaml:1:1: unknown key 'networks'",
       "network"},
      {"plan -f good.yaml --cluster nowhere", "nowhere: ", "No such file"},
      {"plan -f named.yaml --cluster brief.yaml", "brief.yaml:2:3: ", "'http'"},
      {"plan -f good.yaml -o xml", "", "xml"},
      {"plan -f good.yaml --profile awz", "--profile: there is no profile 'awz'", "openstack"},
      {"run --profile awz", "--profile: there is no profile 'awz'", "openstack"},
      {"plan -f good.yaml --profile ./facts.yaml", "--profile: ./facts.yaml:1:1: ", "name"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.arguments);
    const auto outcome = kindlb_in(folder, c.arguments);
    CAPTURE(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.out == "");
    CHECK(outcome.err.starts_with(std::string("kindlb: ") + c.begins));
    CHECK(holds(outcome.err, c.mentions));
    CHECK(std::ranges::count(outcome.err, '\n') == 1);
  }
}

TEST_CASE("what cannot be written is no answer") {
  const test::TempFolder folder;
  folder.write("web.yaml", kWeb);
  const auto full = kindlb_in(folder, "plan -f web.yaml --exit-code >/dev/full 2>err.txt #");
  CHECK(full.code == 2);
  CHECK(full.err == "kindlb: standard output: No space left on device\n");
}

TEST_CASE("--profile list is a list") {
  const test::TempFolder folder;
  for (const char* arguments : {"run --profile list", "--profile list", "plan --profile list"}) {
    const auto outcome = kindlb_in(folder, arguments);
    CHECK(outcome.code == 0);
    CHECK(outcome.err == "");
    CHECK(outcome.out == profile::list_profiles());
  }
}

TEST_CASE("ten times as many Services take about ten times as long") {
  const auto hundred = time_to_plan(100);
  const auto thousand = time_to_plan(1'000);
  MESSAGE("1,000 Services planned in " << thousand.count() << " ms, 100 in " << hundred.count());
  CHECK(thousand < 20 * hundred);
}
