#include "kindlb/profile/profile.hpp"

#include "kindlb/core/verdict.hpp"
#include "support/builders.hpp"
#include "support/paths.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace kindlb;
using core::Capabilities;
using core::MixedProtocols;
using core::Protocol;
using profile::Profile;

Capabilities can(const std::string& name) {
  const auto found = profile::find_profile(name);
  REQUIRE_MESSAGE(found.ok(), found.error().text());
  return found->capabilities;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string complaint(const std::string& yaml) {
  const auto profile = profile::parse_profile(yaml, "my.yaml");
  REQUIRE_FALSE(profile.ok());
  return profile.error().operation + ": " + profile.error().detail;
}

std::string contents(const std::string& path) {
  std::ifstream in(test::source_dir() + "/" + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("these profiles come with kindlb") {
  std::vector<std::string> names;
  for (const auto& one : profile::all_profiles()) names.push_back(one.name);
  CHECK(names == std::vector<std::string>{"full", "tcp-only", "ipv4-only", "nodeport-only",
                                          "no-affinity", "no-mixed-protocols", "alibaba", "aws",
                                          "azure", "digitalocean", "gce", "ibm-classic", "ibm-vpc",
                                          "openstack", "oracle", "tencent"});
}

TEST_CASE("every profile says what it is and who says so") {
  for (const auto& one : profile::all_profiles()) {
    CAPTURE(one.name);
    CHECK_FALSE(one.summary.empty());
    CHECK_FALSE(holds(one.summary, "\n"));
    CHECK_FALSE(one.source.empty());
    CHECK(profile::find_profile(one.name).value() == one);
    CHECK(holds(contents("src/profile/data/" + one.name + ".yaml"), "name: " + one.name + "\n"));
  }
}

TEST_CASE("a profile lacks what its source says, and nothing else") {
  struct Case {
    const char* name;
    Capabilities expected;
  };
  const auto lacking = [](auto change) {
    Capabilities out;
    change(out);
    return out;
  };
  const auto only_tcp = lacking([](auto& c) { c.protocols = {Protocol::Tcp}; });
  const auto unmixed = lacking([](auto& c) { c.mixed_protocols = MixedProtocols::None; });
  const Case cases[] = {
      {"full", {}},
      {"tcp-only", only_tcp},
      {"ipv4-only", lacking([](auto& c) { c.families = {core::IpFamily::V4}; })},
      {"nodeport-only", lacking([](auto& c) { c.direct_path = false; })},
      {"no-affinity", lacking([](auto& c) { c.session_affinity = false; })},
      {"no-mixed-protocols", unmixed},
      {"alibaba", {}},
      {"aws", lacking([](auto& c) { c.mixed_protocols = MixedProtocols::DistinctPorts; })},
      {"azure", lacking([](auto& c) {
         c.mixed_protocols_annotation =
             "service.beta.kubernetes.io/azure-load-balancer-mixed-protocols";
       })},
      {"digitalocean", only_tcp},
      {"gce", unmixed},
      {"ibm-classic", {}},
      {"ibm-vpc", only_tcp},
      {"openstack", {}},
      {"oracle", only_tcp},
      {"tencent", {}},
  };
  CHECK(std::size(cases) == profile::all_profiles().size());
  for (const auto& c : cases) {
    CAPTURE(c.name);
    CHECK(can(c.name) == c.expected);
  }
}

TEST_CASE("the error for an unknown name lists the known ones") {
  const auto unknown = profile::find_profile("awz");
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().kind == core::ErrorKind::NotFound);
  const auto text = unknown.error().operation + ": " + unknown.error().detail;
  CHECK(holds(text, "'awz'"));
  for (const auto& one : profile::all_profiles()) CHECK_MESSAGE(holds(text, one.name), one.name);
}

TEST_CASE("the list has one line per profile") {
  const auto list = profile::list_profiles();
  CHECK(static_cast<std::size_t>(std::ranges::count(list, '\n')) == profile::all_profiles().size());
  for (const auto& one : profile::all_profiles()) {
    CHECK_MESSAGE(holds(list, one.name + " "), one.name);
    CHECK_MESSAGE(holds(list, one.summary), one.name);
    CHECK_MESSAGE(holds(list, one.source), one.name);
  }
}

TEST_CASE("a profile of one's own") {
  const auto mine = profile::parse_profile(
      "name: mine\nsummary: ours at work\ncapabilities:\n  protocols: [TCP]\n"
      "  mixedProtocols: distinct-ports\n  mixedProtocolsAnnotation: example.com/mixed\n"
      "  ipFamilies: [IPv4]\n  dualStack: false\n  severalPorts: false\n  directPath: false\n  "
      "sessionAffinity: false\n"
      "  sourceRanges: no\n  loadBalancerIP: false\n  preservesSourceIP: false\n",
      "my.yaml");
  REQUIRE_MESSAGE(mine.ok(), mine.error().text());
  CHECK(mine->name == "mine");
  CHECK(mine->capabilities == Capabilities{.protocols = {Protocol::Tcp},
                                           .mixed_protocols = MixedProtocols::DistinctPorts,
                                           .mixed_protocols_annotation = "example.com/mixed",
                                           .families = {core::IpFamily::V4},
                                           .dual_stack = false,
                                           .several_ports = false,
                                           .direct_path = false,
                                           .session_affinity = false,
                                           .source_ranges = false,
                                           .load_balancer_ip = false,
                                           .preserves_source_ip = false});
}

TEST_CASE("faults of a profile are reported with their place") {
  struct Case {
    const char* name;
    const char* capabilities;
    const char* expected;
  };
  const Case cases[] = {
      {"unknown key", "protocol: [TCP]", "my.yaml:4:3: unknown key 'protocol'; known keys: "},
      {"unknown protocol", "protocols: [TCP, HTTP]",
       "my.yaml:4:20: must be one of TCP, UDP, SCTP, not 'HTTP'"},
      {"not a list", "protocols: TCP", "my.yaml:4:14: 'protocols' must be a list, not 'TCP'"},
      {"nothing left", "protocols: []", "my.yaml:4:14: 'protocols' is empty"},
      {"unknown mixing", "mixedProtocols: some",
       "my.yaml:4:19: must be one of any, distinct-ports, none, not 'some'"},
      {"not a flag", "directPath: 0", "my.yaml:4:15: 'directPath' must be true or false, not '0'"},
      {"more than there is", "protocols: [SCTP]",
       "my.yaml:4:15: a profile can only remove capabilities: kindlb itself does not support SCTP"},
      {"a flag more than there is", "preservesSourceIP: true",
       "my.yaml:4:22: a profile can only remove capabilities: kindlb itself has no "
       "preservesSourceIP"},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const auto message =
          complaint("name: mine\nsummary: s\ncapabilities:\n  " + std::string(c.capabilities));
      CHECK_MESSAGE(message.starts_with(c.expected), message);
    }
  }
  CHECK(holds(complaint("summary: s\n"), "my.yaml:1:1: 'name' is missing"));
  CHECK(holds(complaint("name: a\nsumary: s\n"), "summary"));
  CHECK(holds(complaint("name: [\n"), "my.yaml:2:"));
  CHECK(holds(complaint(""), "a single YAML document"));
  CHECK(holds(complaint("a: 1\n---\nb: 2\n"), "this file has 2"));
}

TEST_CASE("names with a slash or .yaml are files") {
  const auto path = test::source_dir() + "/src/profile/data/aws.yaml";
  CHECK(profile::load_profile(path).value() == profile::find_profile("aws").value());
  CHECK(profile::load_profile("aws").value() == profile::find_profile("aws").value());
  const auto missing = profile::load_profile("./nowhere.yaml");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().operation == "./nowhere.yaml");
}

TEST_CASE("the page about profiles has a row for each") {
  const auto page = contents("docs/profiles.md");
  for (const auto& one : profile::all_profiles())
    CHECK_MESSAGE(holds(page, "| `" + one.name + "` |"), one.name);
}

TEST_CASE("the example on the page about profiles can be read") {
  const auto page = contents("docs/profiles.md");
  const auto begin = page.find("```yaml\n");
  REQUIRE(begin != std::string::npos);
  const auto end = page.find("```", begin + 8);
  const auto mine = profile::parse_profile(page.substr(begin + 8, end - begin - 8), "page");
  REQUIRE_MESSAGE(mine.ok(), mine.error().text());
  CHECK_FALSE(mine->capabilities.direct_path);
}

namespace {

/// What becomes of a Service under that profile: "serve", "degrade" or "refuse", and the open
/// ports.
std::string fate(const std::string& profile, const core::Service& service) {
  core::Policy policy;
  policy.capabilities = can(profile);
  const auto verdict = core::evaluate(
      service, policy, {.families = {core::IpFamily::V4, core::IpFamily::V6}, .network = nullptr});
  if (verdict.outcome == core::Outcome::Refuse) return "refuse";
  std::string out = verdict.outcome == core::Outcome::Serve ? "serve" : "degrade";
  for (const auto& port : verdict.ports)
    out += " " + std::string(name_of(port.protocol)) + "/" + std::to_string(port.port);
  return out;
}

}  // namespace

TEST_CASE("how Services with TCP and UDP fare at each cloud") {
  const auto udp = Protocol::Udp;
  const core::Service plain = test::a_service().with_port(80);
  const core::Service distinct = test::a_service().with_port(80).with_port(5000, udp);
  const core::Service dns = test::a_service().with_port(53).with_port(53, udp);
  const core::Service only_udp = test::a_service().with_port(53, udp);
  struct Case {
    const char* profile;
    const char* distinct;
    const char* dns;
    const char* only_udp;
  };
  const char* const both = "serve TCP/80 UDP/5000";
  const char* const both_dns = "serve TCP/53 UDP/53";
  const char* const one = "degrade TCP/80";
  const char* const one_dns = "degrade TCP/53";
  const Case cases[] = {
      {"full", both, both_dns, "serve UDP/53"},
      {"tcp-only", one, one_dns, "refuse"},
      {"no-mixed-protocols", one, one_dns, "serve UDP/53"},
      {"alibaba", both, both_dns, "serve UDP/53"},
      {"aws", both, one_dns, "serve UDP/53"},
      {"azure", one, one_dns, "serve UDP/53"},
      {"digitalocean", one, one_dns, "refuse"},
      {"gce", one, one_dns, "serve UDP/53"},
      {"ibm-classic", both, both_dns, "serve UDP/53"},
      {"ibm-vpc", one, one_dns, "refuse"},
      {"openstack", both, both_dns, "serve UDP/53"},
      {"oracle", one, one_dns, "refuse"},
      {"tencent", both, both_dns, "serve UDP/53"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.profile);
    CHECK(fate(c.profile, plain) == "serve TCP/80");
    CHECK(fate(c.profile, distinct) == c.distinct);
    CHECK(fate(c.profile, dns) == c.dns);
    CHECK(fate(c.profile, only_udp) == c.only_udp);
  }
}

TEST_CASE("Azure's annotation allows both protocols, also on one port number") {
  const auto annotated = [](const char* value) {
    return test::a_service()
        .annotated("service.beta.kubernetes.io/azure-load-balancer-mixed-protocols", value)
        .with_port(53)
        .with_port(53, Protocol::Udp)
        .build();
  };
  CHECK(fate("azure", annotated("true")) == "serve TCP/53 UDP/53");
  CHECK(fate("azure", annotated("false")) == "degrade TCP/53");
  CHECK(fate("gce", annotated("true")) == "degrade TCP/53");
}

TEST_CASE("what the plain profiles lack decides") {
  const auto v4 = core::IpFamily::V4;
  const auto v6 = core::IpFamily::V6;
  const core::Service dual = test::a_service().with_families({v4, v6}).with_port(80);
  const core::Service six = test::a_service().with_families({v6}).with_port(80);
  const core::Service sticky = test::a_service().with_affinity().with_port(80);
  const core::Service direct = test::a_service().with_port(80).without_node_ports();
  CHECK(fate("full", dual) == "serve TCP/80");
  CHECK(fate("ipv4-only", dual) == "degrade TCP/80");
  CHECK(fate("ipv4-only", six) == "refuse");
  CHECK(fate("full", sticky) == "serve TCP/80");
  CHECK(fate("no-affinity", sticky) == "degrade TCP/80");
  CHECK(fate("full", direct) == "serve TCP/80");
  CHECK(fate("nodeport-only", direct) == "refuse");
}
