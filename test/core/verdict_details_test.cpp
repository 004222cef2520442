// docs/contract.md §3 and §4 beyond the single row: required features in their two places, several
// findings at once, and what becomes of each port and family.
#include "core/verdict_support.hpp"
#include "kindlb/core/verdict.hpp"
#include "support/builders.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>

#include <cctype>
#include <string>
#include <vector>

using namespace kindlb::core;
using kindlb::test::a_service;
using kindlb::test::judged;
using kindlb::test::kRequiredAnnotation;
using kindlb::test::mentions;
using kindlb::test::modest;
using kindlb::test::ServiceBuilder;
using kindlb::test::web;

namespace {

bool is_dns_label(const std::string& text) {
  const auto allowed = [](unsigned char c) {
    return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-' || c == '.';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), allowed) &&
         std::isalnum(static_cast<unsigned char>(text.front())) != 0 &&
         std::isalnum(static_cast<unsigned char>(text.back())) != 0;
}

bool is_camel_case(const std::string& text) {
  return !text.empty() && std::isupper(static_cast<unsigned char>(text.front())) != 0 &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0; });
}

/// The API's format for values of one provider: a DNS subdomain, a slash, CamelCase; 316 at most.
bool is_provider_value(const std::string& text) {
  const auto slash = text.find('/');
  return slash != std::string::npos && text.size() <= 316 && is_dns_label(text.substr(0, slash)) &&
         mentions(text, ".") && is_camel_case(text.substr(slash + 1));
}

}  // namespace

TEST_CASE("how the annotation with required features is read") {
  struct Case {
    const char* name;
    const char* annotation;
    Outcome want;
  };
  const Case cases[] = {
      {"one", "SessionAffinity", Outcome::Refuse},
      {"blanks around it", "  SessionAffinity\t", Outcome::Refuse},
      {"the second of two", "Ports,SessionAffinity", Outcome::Refuse},
      {"blanks around the comma", "Ports , SessionAffinity", Outcome::Refuse},
      {"newlines", "Ports,\n  SessionAffinity\n", Outcome::Refuse},
      {"empty items", ",,SessionAffinity,", Outcome::Refuse},
      {"others only", "Ports,IPFamilies", Outcome::Degrade},
      {"empty", "", Outcome::Degrade},
      {"blank", " \t ", Outcome::Degrade},
      {"commas only", ", ,", Outcome::Degrade},
      {"names are compared exactly", "sessionaffinity", Outcome::Refuse},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      const auto verdict =
          judged(web().with_affinity().annotated(kRequiredAnnotation, c.annotation));
      CHECK(verdict.outcome == c.want);
    }
  }
}

TEST_CASE("field and annotation are united") {
  const auto service = web()
                           .with_affinity()
                           .local()
                           .requiring("SessionAffinity")
                           .annotated(kRequiredAnnotation, "ExternalTrafficPolicy");
  const auto verdict = judged(service);
  CHECK(verdict.outcome == Outcome::Refuse);
  CHECK(verdict.reasons.size() == 2);
}

TEST_CASE("the same feature in both places counts once") {
  const auto verdict = judged(
      web().requiring("Teleport").requiring("Teleport").annotated(kRequiredAnnotation, "Teleport"));
  CHECK(verdict.outcome == Outcome::Refuse);
  CHECK(verdict.reasons.size() == 1);
}

TEST_CASE("an unknown required feature is refused and named") {
  for (const bool strict : {false, true}) {
    CAPTURE(strict);
    for (const auto& service :
         {web().requiring("TrafficDistribution").build(),
          web().annotated(kRequiredAnnotation, "Ports, TrafficDistribution").build()}) {
      const auto verdict = judged(service, {.strict = strict, .capabilities = modest()});
      CHECK(verdict.outcome == Outcome::Refuse);
      CHECK(verdict.reasons.size() == 1);
      CHECK(mentions(summary_message(verdict.reasons), "\"TrafficDistribution\""));
    }
  }
}

TEST_CASE("several unknown features are all named") {
  const auto verdict = judged(web().requiring("Beam").annotated(kRequiredAnnotation, "Warp"));
  CHECK(mentions(summary_message(verdict.reasons), "\"Beam\""));
  CHECK(mentions(summary_message(verdict.reasons), "\"Warp\""));
}

TEST_CASE("several degradations are Multiple and all named") {
  const auto verdict = judged(web().with_affinity().local().with_ip("172.18.0.9"));
  CHECK(verdict.outcome == Outcome::Degrade);
  CHECK(verdict.reasons.size() == 3);
  CHECK(summary_reason(verdict.reasons) == "Multiple");
  const auto message = summary_message(verdict.reasons);
  for (const char* field :
       {"spec.sessionAffinity", "spec.externalTrafficPolicy", "spec.loadBalancerIP"})
    CHECK(mentions(message, field));
}

TEST_CASE("a refusal lists each thing that is required and missing, and nothing else") {
  const auto verdict = judged(web()
                                  .with_affinity()
                                  .local()
                                  .with_ip("172.18.0.9")
                                  .requiring("SessionAffinity")
                                  .requiring("LoadBalancerIP"));
  CHECK(verdict.outcome == Outcome::Refuse);
  const auto message = summary_message(verdict.reasons);
  CHECK(mentions(message, "spec.sessionAffinity"));
  CHECK(mentions(message, "spec.loadBalancerIP"));
  CHECK_FALSE(mentions(message, "spec.externalTrafficPolicy"));
}

TEST_CASE("what is served instead is named for degraded Services only, the remedy for all") {
  struct Case {
    const char* feature;
    Service service;
    const char* instead;
    const char* remedy;
  };
  const std::vector both = {IpFamily::V4, IpFamily::V6};
  const Case cases[] = {
      {"Ports", web().with_port(9, Protocol::Sctp), "the other ports are served", "use TCP"},
      {"IPFamilies", web().with_families(both), "only IPv4 is served", "use IPv4 only"},
      {"SessionAffinity", web().with_affinity(), "may reach different", "remove the field"},
      {"LoadBalancerSourceRanges", web().with_source_range("10.0.0.0/8"), "are accepted",
       "remove it"},
      {"LoadBalancerIP", web().with_ip("172.18.0.9"), "another address is used", "choose none"},
      {"ExternalTrafficPolicy", web().local(), "honoured for routing", "use Cluster"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.feature);
    const auto degraded = summary_message(judged(c.service).reasons);
    CHECK(mentions(degraded, c.instead));
    CHECK(mentions(degraded, c.remedy));
    auto requiring = c.service;
    requiring.spec.required_features = {c.feature};
    const auto refused = summary_message(judged(requiring).reasons);
    CHECK_FALSE(mentions(refused, c.instead));
    CHECK(mentions(refused, c.remedy));
    CHECK(mentions(refused, "or do not require it"));
    if (c.service.spec.external_traffic_policy == TrafficPolicy::Local) continue;
    const auto strict =
        summary_message(judged(c.service, {.strict = true, .capabilities = modest()}).reasons);
    CHECK_FALSE(mentions(strict, c.instead));
    CHECK(mentions(strict, "or run kindlb without --strict"));
  }
}

TEST_CASE("the way out names who takes the feature away") {
  const auto by_profile = summary_message(judged(web().with_affinity()).reasons);
  CHECK(mentions(by_profile, "another --profile"));
  const auto by_annotation = summary_message(
      judged(web().with_affinity().annotated("kindlb.dev/fault-unsupported", "SessionAffinity"),
             Policy{})
          .reasons);
  CHECK(mentions(by_annotation, "remove the annotation kindlb.dev/fault-unsupported"));
  const auto six = web().with_families({IpFamily::V6}).build();
  CHECK(mentions(summary_message(judged(six).reasons), "another --profile"));
  CHECK(mentions(summary_message(evaluate(six, Policy{}, {.families = {IpFamily::V4}}).reasons),
                 "use a docker network"));
}

TEST_CASE("summaries of nothing and of one") {
  CHECK(summary_reason({}).empty());
  CHECK(summary_message({}).empty());
  const Reason one{"Ports", "PortsNotSupported", "Text."};
  CHECK(summary_reason({one}) == "PortsNotSupported");
  CHECK(summary_message({one}) == "Text.");
  CHECK(summary_message({one, one}) == "Text. Text.");
}

TEST_CASE("every port of the Service has a status, in order; closed ones carry an error") {
  const auto verdict = judged(a_service()
                                  .with_port(443)
                                  .with_port(53, Protocol::Udp)
                                  .with_port(53, Protocol::Tcp)
                                  .with_port(9, Protocol::Sctp));
  const std::string error = "kindlb.dev/PortsNotSupported";
  CHECK(verdict.port_status == std::vector<PortStatus>{{443, Protocol::Tcp, ""},
                                                       {53, Protocol::Udp, error},
                                                       {53, Protocol::Tcp, ""},
                                                       {9, Protocol::Sctp, error}});
  REQUIRE(verdict.ports.size() == 2);
  CHECK(verdict.ports[0].port == 443);
  CHECK(verdict.ports[1].port == 53);
  CHECK(verdict.ports[1].protocol == Protocol::Tcp);
}

TEST_CASE("port errors have the API's format for values of a provider") {
  for (const auto& status : judged(web().with_port(9, Protocol::Sctp)).port_status) {
    CAPTURE(status);
    CHECK((status.error.empty() || is_provider_value(status.error)));
  }
  // The check itself can fail.
  for (const char* wrong : {"PortsNotSupported", "kindlb.dev/", "/X", "kindlb.dev/not-camel",
                            "Kindlb.dev/X", "kindlb.dev/lower", "-a.b/X", "kindlb/X"}) {
    CAPTURE(wrong);
    CHECK_FALSE(is_provider_value(wrong));
  }
}

TEST_CASE("families are kept in the Service's order") {
  Policy both;
  both.capabilities.families = {IpFamily::V4, IpFamily::V6};
  const std::vector order = {IpFamily::V6, IpFamily::V4};
  CHECK(judged(web().with_families(order), both).families == order);
  CHECK(judged(web().with_families(order)).families == std::vector{IpFamily::V4});
}

TEST_CASE("a Service without families counts as IPv4") {
  CHECK(judged(web().with_families({})).families == std::vector{IpFamily::V4});
}

TEST_CASE("a family needs the capability and the network") {
  struct Case {
    const char* name;
    std::set<IpFamily> can;
    std::set<IpFamily> network;
    Outcome want;
  };
  const Case cases[] = {
      {"both", {IpFamily::V4, IpFamily::V6}, {IpFamily::V4, IpFamily::V6}, Outcome::Serve},
      {"no capability for one", {IpFamily::V4}, {IpFamily::V4, IpFamily::V6}, Outcome::Degrade},
      {"no network for one", {IpFamily::V4, IpFamily::V6}, {IpFamily::V6}, Outcome::Degrade},
      {"no overlap", {IpFamily::V4}, {IpFamily::V6}, Outcome::Refuse},
  };
  for (const auto& c : cases) {
    SUBCASE(c.name) {
      Policy policy;
      policy.capabilities.families = c.can;
      const auto service = web().with_families({IpFamily::V4, IpFamily::V6}).build();
      CHECK(evaluate(service, policy, {.families = c.network}).outcome == c.want);
    }
  }
}

TEST_CASE("the truth table keeps its promises") {
  const char* const kFeatures[] = {"IPFamilies",
                                   "Ports",
                                   "SessionAffinity",
                                   "LoadBalancerIP",
                                   "ExternalTrafficPolicy",
                                   "LoadBalancerSourceRanges"};
  for (unsigned asked = 0; asked < 64; ++asked)
    for (unsigned required = 0; required < 64; ++required)
      for (const bool strict : {false, true}) {
        auto service = web();
        if ((asked & 1U) != 0) service.with_families({IpFamily::V4, IpFamily::V6});
        if ((asked & 2U) != 0) service.with_port(53, Protocol::Udp);
        if ((asked & 4U) != 0) service.with_affinity();
        if ((asked & 8U) != 0) service.with_ip("172.18.0.9");
        if ((asked & 16U) != 0) service.local();
        if ((asked & 32U) != 0) service.with_source_range("10.0.0.0/8");
        for (unsigned i = 0; i < 6; ++i)
          if ((required >> i & 1U) != 0) service.requiring(kFeatures[i]);
        const auto verdict = judged(service, {.strict = strict, .capabilities = modest()});
        const bool refused = (asked & (required | (strict ? 47U : 0U))) != 0;
        const auto want = refused      ? Outcome::Refuse
                          : asked != 0 ? Outcome::Degrade
                                       : Outcome::Serve;
        if (verdict.outcome != want) {
          CAPTURE(asked);
          CAPTURE(required);
          CHECK(verdict.outcome == want);
        }
        if (want == Outcome::Degrade)
          REQUIRE((summary_reason(verdict.reasons) == "Multiple") == ((asked & (asked - 1)) != 0));
      }
}
