// docs/contract.md §3, row by row: each request with and without the capability, required and
// strict.
#include "kindlb/core/verdict.hpp"

#include "core/verdict_support.hpp"
#include "support/builders.hpp"
#include "support/printing.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace kindlb::core;
using kindlb::test::a_service;
using kindlb::test::dual_stack;
using kindlb::test::judged;
using kindlb::test::kRangesAnnotation;
using kindlb::test::kRequiredAnnotation;
using kindlb::test::mentions;
using kindlb::test::modest;
using kindlb::test::ServiceBuilder;
using kindlb::test::web;

namespace {

Capabilities everything() {
  Capabilities out;
  out.protocols = {Protocol::Tcp, Protocol::Udp, Protocol::Sctp};
  out.families = {IpFamily::V4, IpFamily::V6};
  out.session_affinity = out.source_ranges = out.load_balancer_ip = out.preserves_source_ip = true;
  return out;
}

std::vector<std::string> reasons_of(const Verdict& verdict) {
  std::vector<std::string> out;
  for (const auto& reason : verdict.reasons) out.push_back(reason.reason);
  return out;
}

/// One row of §3 whose default is to degrade.
struct DegradableRow {
  const char* name;
  ServiceBuilder asks;
  const char* feature;  ///< the name a Service may require
  const char* reason;
  const char* field;  ///< named in the message
};

std::vector<DegradableRow> degradable_rows() {
  return {
      {"two families, one unsupported", web().with_families({IpFamily::V4, IpFamily::V6}),
       "IPFamilies", "IPFamiliesNotSupported", "spec.ipFamilies"},
      {"two families, the first unsupported", web().with_families({IpFamily::V6, IpFamily::V4}),
       "IPFamilies", "IPFamiliesNotSupported", "IPv6"},
      {"some unsupported ports", web().with_port(53, Protocol::Udp), "Ports", "PortsNotSupported",
       "UDP/53"},
      {"sessionAffinity ClientIP", web().with_affinity(), "SessionAffinity",
       "SessionAffinityNotSupported", "spec.sessionAffinity"},
      {"loadBalancerSourceRanges", web().with_source_range("10.0.0.0/8"),
       "LoadBalancerSourceRanges", "LoadBalancerSourceRangesNotSupported",
       "spec.loadBalancerSourceRanges"},
      {"source ranges by annotation", web().annotated(kRangesAnnotation, "10.0.0.0/8"),
       "LoadBalancerSourceRanges", "LoadBalancerSourceRangesNotSupported", kRangesAnnotation},
      {"loadBalancerIP", web().with_ip("172.18.0.9"), "LoadBalancerIP",
       "LoadBalancerIPNotSupported", "172.18.0.9"},
      {"externalTrafficPolicy Local", web().local(), "ExternalTrafficPolicy",
       "ExternalTrafficPolicyNotSupported", "spec.externalTrafficPolicy"},
  };
}

bool is_local(const DegradableRow& row) {
  return std::string(row.feature) == "ExternalTrafficPolicy";
}

}  // namespace

TEST_CASE("a request beyond the capabilities degrades unless it is required") {
  for (const auto& row : degradable_rows()) {
    SUBCASE(row.name) {
      const auto verdict = judged(row.asks);
      CHECK(verdict.outcome == Outcome::Degrade);
      CHECK(reasons_of(verdict) == std::vector<std::string>{row.reason});
      CHECK(verdict.reasons[0].feature == row.feature);
      CHECK(mentions(verdict.reasons[0].message, row.field));
      CHECK(summary_reason(verdict.reasons) == row.reason);
    }
  }
}

TEST_CASE("a request within the capabilities is served") {
  for (const auto& row : degradable_rows()) {
    SUBCASE(row.name) {
      CHECK(judged(row.asks, everything()).outcome == Outcome::Serve);
      CHECK(judged(row.asks, everything(), true).outcome == Outcome::Serve);
      auto required = row.asks;
      const auto verdict = judged(required.requiring(row.feature), everything());
      CHECK(verdict.outcome == Outcome::Serve);
      CHECK(verdict.reasons.empty());
    }
  }
}

TEST_CASE("a required feature beyond the capabilities is refused") {
  for (const auto& row : degradable_rows()) {
    SUBCASE(row.name) {
      auto in_spec = row.asks;
      const auto verdict = judged(in_spec.requiring(row.feature));
      CHECK(verdict.outcome == Outcome::Refuse);
      CHECK(mentions(summary_message(verdict.reasons), row.field));
      auto in_annotation = row.asks;
      CHECK(judged(in_annotation.annotated(kRequiredAnnotation, row.feature)).outcome ==
            Outcome::Refuse);
    }
  }
}

TEST_CASE("strict refuses what would degrade, but for traffic policy Local") {
  for (const auto& row : degradable_rows()) {
    SUBCASE(row.name) {
      const auto verdict = judged(row.asks, modest(), true);
      CHECK(verdict.outcome == (is_local(row) ? Outcome::Degrade : Outcome::Refuse));
      CHECK(mentions(summary_message(verdict.reasons), row.field));
    }
  }
}

TEST_CASE("strict and required: Local is refused, too") {
  CHECK(judged(web().local().requiring("ExternalTrafficPolicy"), modest(), true).outcome ==
        Outcome::Refuse);
}

TEST_CASE("a required feature that the Service does not use is satisfied") {
  for (const char* feature : {"IPFamilies", "Ports", "SessionAffinity", "LoadBalancerIP",
                              "ExternalTrafficPolicy", "LoadBalancerSourceRanges"}) {
    SUBCASE(feature) {
      CHECK(judged(web().requiring(feature)).outcome == Outcome::Serve);
      CHECK(judged(web().annotated(kRequiredAnnotation, feature)).outcome == Outcome::Serve);
    }
  }
}

TEST_CASE("requiring one feature does not require another") {
  const auto verdict = judged(web().with_affinity().requiring("Ports"));
  CHECK(verdict.outcome == Outcome::Degrade);
  CHECK(reasons_of(verdict) == std::vector<std::string>{"SessionAffinityNotSupported"});
}

TEST_CASE("what can only be refused") {
  struct Case {
    const char* name;
    ServiceBuilder asks;
    NetworkEnvironment place;
    const char* field;
    Datapath datapath = Datapath::Auto;
  };
  const Case cases[] = {
      {"only unsupported families", web().with_families({IpFamily::V6}), dual_stack(),
       "spec.ipFamilies"},
      {"a family the network lacks", web(), {.families = {IpFamily::V6}}, "IPv4"},
      {"only unsupported protocols", a_service().with_port(9, Protocol::Sctp), dual_stack(),
       "SCTP/9"},
      {"several unsupported protocols",
       a_service().with_port(9, Protocol::Sctp).with_port(53, Protocol::Udp), dual_stack(),
       "SCTP/9, UDP/53"},
      {"no node ports and no direct path", web().without_node_ports(), dual_stack(),
       "spec.allocateLoadBalancerNodePorts", Datapath::NodePort},
  };
  for (const auto& c : cases) {
    for (const bool strict : {false, true}) {
      CAPTURE(c.name);
      CAPTURE(strict);
      const Policy policy{.strict = strict, .datapath = c.datapath, .capabilities = modest()};
      const auto verdict = evaluate(c.asks, policy, c.place);
      CHECK(verdict.outcome == Outcome::Refuse);
      CHECK(mentions(summary_message(verdict.reasons), c.field));
    }
  }
}

TEST_CASE("node ports kept from before do not make up for refusing them") {
  auto service = web().build();
  service.spec.allocate_node_ports = false;
  CHECK(evaluate(service, {.datapath = Datapath::NodePort}, dual_stack()).outcome ==
        Outcome::Refuse);
  CHECK(evaluate(service, {}, dual_stack()).outcome == Outcome::Serve);
}

TEST_CASE("no node ports are fine with a direct path, and with node ports without one") {
  CHECK(evaluate(web().without_node_ports(), {}, dual_stack()).outcome == Outcome::Serve);
  CHECK(evaluate(web(), {.datapath = Datapath::NodePort}, dual_stack()).outcome == Outcome::Serve);
}

TEST_CASE("a refusal for want of a family says which one there is") {
  const auto v6_only =
      evaluate(web(), {.capabilities = everything()}, {.families = {IpFamily::V6}}).reasons;
  REQUIRE(v6_only.size() == 1);
  CHECK(mentions(v6_only[0].message, "IPv6"));
  const auto v4_only = judged(web().with_families({IpFamily::V6})).reasons;
  REQUIRE(v4_only.size() == 1);
  CHECK(mentions(v4_only[0].message, "use IPv4"));
}

TEST_CASE("blank source range annotations ask for nothing, and the field goes first") {
  CHECK(judged(web().annotated(kRangesAnnotation, "  ")).outcome == Outcome::Serve);
  CHECK(judged(web().annotated(kRangesAnnotation, "")).outcome == Outcome::Serve);
  const auto both =
      judged(web().with_source_range("10.0.0.0/8").annotated(kRangesAnnotation, "1.0.0.0/8"));
  REQUIRE(both.reasons.size() == 1);
  CHECK(mentions(both.reasons[0].message, "spec.loadBalancerSourceRanges"));
}
